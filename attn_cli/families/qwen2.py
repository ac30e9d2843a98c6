"""Qwen2: Llama with biases on queries, keys and values, and windows in late layers if it is told to."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import llama
from attn_cli.families._parts import late_windows
from attn_cli.families.llama import IGNORED, PREFIXES, TENSORS
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("Yang et al. 2024, arXiv 2407.10671, section 2.2", "Hugging Face transformers, models/qwen2")


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a Qwen2 config; defaults are those of Qwen2Config."""
    cfg.assume(
        vocab_size=151936, intermediate_size=22016, num_key_value_heads=32, max_position_embeddings=32768,
        sliding_window=4096,
    )  # fmt: skip
    base = llama.spec(cfg, "qwen2")
    return replace(base, windows=late_windows(cfg, base.n_layers), attn_bias=True, output_bias=False, mlp_bias=False)
