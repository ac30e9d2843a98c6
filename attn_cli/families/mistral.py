"""Mistral: Llama with a sliding window in every layer."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import llama
from attn_cli.families.llama import IGNORED, PREFIXES, TENSORS
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("Jiang et al. 2023, arXiv 2310.06825, section 2", "Hugging Face transformers, models/mistral")


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a Mistral config; defaults are those of MistralConfig."""
    cfg.assume(intermediate_size=14336, num_key_value_heads=8, max_position_embeddings=131072, sliding_window=4096)
    base, window = llama.spec(cfg, "mistral"), cfg.optional_size("sliding_window")
    return replace(base, windows=(window,) * base.n_layers if window else ())
