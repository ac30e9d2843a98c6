"""SmolLM3: Llama in which every fourth layer has no rotary positions."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import llama
from attn_cli.families._parts import windows
from attn_cli.families.llama import IGNORED, PREFIXES, TENSORS
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = (
    "Hugging Face 2025, SmolLM3",
    "Yang et al. 2025 (layers without rotary), arXiv 2501.18795",
    "Hugging Face transformers, models/smollm3",
)


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a SmolLM3 config; defaults are those of SmolLM3Config."""
    cfg.assume(
        vocab_size=128256, hidden_size=2048, num_hidden_layers=36, num_attention_heads=16, num_key_value_heads=4,
        max_position_embeddings=32768, rope_theta=2e6, tie_word_embeddings=True,
    )  # fmt: skip
    cfg.ignore("max_window_layers")
    base = llama.spec(cfg, "smollm3")
    n, period = base.n_layers, cfg.size("no_rope_layer_interval", default=4)
    turned = cfg.numbers("no_rope_layers") or tuple((i + 1) % period != 0 for i in range(n))  # 1: with rotary
    cfg.per_layer("no_rope_layers", turned, n)
    on, window = cfg.flag("use_sliding_window", default=False), cfg.optional_size("sliding_window")
    layers = windows(cfg, n, window if on else None, [not t for t in turned])
    return replace(base, layer_ropes=tuple(base.rope if t else None for t in turned), windows=layers)
