"""Seed-OSS: Llama with biases on queries, keys and values."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import llama
from attn_cli.families.llama import IGNORED, PREFIXES, TENSORS
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("ByteDance Seed 2025, Seed-OSS", "Hugging Face transformers, models/seed_oss")


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a Seed-OSS config; defaults are those of SeedOssConfig."""
    cfg.assume(
        vocab_size=155136, intermediate_size=27648, num_hidden_layers=64, num_attention_heads=80, num_key_value_heads=8,
        head_dim=128, max_position_embeddings=524288, attention_bias=True,
    )  # fmt: skip
    return replace(llama.spec(cfg, "seed_oss"), output_bias=cfg.flag("attention_out_bias", default=False))
