"""Gemma: Llama with larger heads, gains of 1 + weight, scaled embeddings and a GeGLU MLP."""

from __future__ import annotations

import math
from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import llama
from attn_cli.families.llama import IGNORED, PREFIXES, TENSORS
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("Gemma Team 2024, arXiv 2403.08295, section 2", "Hugging Face transformers, models/gemma")


def spec(cfg: ConfigReader, family: str = "gemma") -> ModelSpec:
    """The spec of a Gemma config; defaults are those of GemmaConfig."""
    cfg.assume(
        vocab_size=256000, hidden_size=3072, intermediate_size=24576, num_hidden_layers=28, num_attention_heads=16,
        num_key_value_heads=16, head_dim=256, hidden_act="gelu_pytorch_tanh", max_position_embeddings=8192,
        tie_word_embeddings=True,
    )  # fmt: skip
    cfg.only("use_bidirectional_attention", False)
    cfg.only("hidden_activation", "gelu_pytorch_tanh")
    base = llama.spec(cfg, family)
    return replace(
        base,
        # the first configs say gelu, and the reference takes it for the tanh approximation they were trained with
        activation="gelu_tanh" if base.activation == "gelu_erf" else base.activation,
        norm_offset=1.0,
        embed_scale=math.sqrt(base.d_model),
        mlp_bias=False,
    )
