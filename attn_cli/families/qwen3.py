"""Qwen3: Llama with a norm of queries and keys, whose gain all heads share."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import llama
from attn_cli.families._parts import late_windows
from attn_cli.families.llama import IGNORED, PREFIXES, TENSORS
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("Yang et al. 2025, arXiv 2505.09388, section 2", "Hugging Face transformers, models/qwen3")


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a Qwen3 config; defaults are those of Qwen3Config."""
    cfg.assume(
        vocab_size=151936, intermediate_size=22016, num_key_value_heads=32, head_dim=128, max_position_embeddings=32768,
        sliding_window=4096,
    )  # fmt: skip
    base = llama.spec(cfg, "qwen3")
    return replace(base, windows=late_windows(cfg, base.n_layers), qk_norm="head", mlp_bias=False)
