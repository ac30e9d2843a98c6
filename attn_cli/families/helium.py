"""Helium: Llama whose neighbouring components turn in pairs."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import llama
from attn_cli.families._rope import rope
from attn_cli.families.llama import IGNORED, PREFIXES, TENSORS
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("Kyutai 2025, Helium 1", "Hugging Face transformers, models/helium")


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a Helium config; defaults are those of HeliumConfig."""
    cfg.assume(
        vocab_size=48000, hidden_size=2560, intermediate_size=7040, num_hidden_layers=24, num_attention_heads=20,
        num_key_value_heads=20, head_dim=128, max_position_embeddings=4096, rms_norm_eps=1e-8,
    )  # fmt: skip
    turns = rope(cfg, cfg.size("head_dim"), theta=1e5, pairs="interleaved")
    return replace(llama.spec(cfg, "helium", turns), output_bias=False)
