"""Granite: Llama with a multiplier each on embeddings, residuals, scores and logits."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import llama
from attn_cli.families.llama import IGNORED, PREFIXES, TENSORS
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("Granite Team 2024, Granite 3.0 Language Models", "Hugging Face transformers, models/granite")


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a Granite config; defaults are those of GraniteConfig."""
    return replace(
        llama.spec(cfg, "granite"),
        embed_scale=cfg.number("embedding_multiplier", default=1.0),
        residual_scale=cfg.number("residual_multiplier", default=1.0),
        scale=cfg.number("attention_multiplier", default=1.0),
        logit_scale=1 / cfg.positive("logits_scaling", default=1.0),
    )
