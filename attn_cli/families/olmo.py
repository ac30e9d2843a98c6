"""OLMo: Llama with norms that have no parameters, and with clamped queries, keys and values if it is told to."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import llama
from attn_cli.families.llama import IGNORED, PREFIXES, TENSORS
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("Groeneveld et al. 2024, arXiv 2402.00838, section 2.1", "Hugging Face transformers, models/olmo")


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of an OLMo config; defaults are those of OlmoConfig."""
    cfg.assume(vocab_size=50304)
    return replace(
        llama.spec(cfg, "olmo"),
        norm="layer",
        norm_eps=1e-5,
        norm_weight=False,
        qkv_clip=cfg.optional_positive("clip_qkv"),
        mlp_bias=False,
    )
