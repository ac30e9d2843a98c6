"""Cohere's Command R7B: Command R with windows, and rotary positions in the windowed layers alone."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import cohere
from attn_cli.families._parts import every, windows
from attn_cli.families.cohere import IGNORED, PREFIXES, TENSORS
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("Cohere 2025, arXiv 2504.00698, section 2", "Hugging Face transformers, models/cohere2")


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a Cohere 2 config; defaults are those of Cohere2Config."""
    cfg.assume(sliding_window=4096)
    cfg.only("rotary_pct", 1)
    cfg.only("use_gated_activation", True)
    cfg.only("use_parallel_block", True)
    cfg.only("position_embedding_type", "rope_gptj")
    cfg.ignore("layer_switch", "order_of_interleaved_layers", "use_embedding_sharing", "cache_implementation")
    base = cohere.spec(cfg, "cohere2", 10000.0)
    slides = every(base.n_layers, cfg, "sliding_window_pattern", "_sliding_window_pattern", default=4)
    layers = windows(cfg, base.n_layers, cfg.optional_size("sliding_window"), slides)
    ropes = tuple(base.rope if window else None for window in layers or (None,) * base.n_layers)
    return replace(base, windows=layers, layer_ropes=ropes)
