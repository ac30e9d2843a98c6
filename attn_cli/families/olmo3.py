"""OLMo 3: OLMo 2 with windows in three layers of four, whose rotary positions are never stretched."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import olmo2
from attn_cli.families._parts import every, windows
from attn_cli.families._rope import ropes_by_type
from attn_cli.families.olmo2 import IGNORED, PREFIXES, TENSORS
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("OLMo Team 2025, arXiv 2512.13961, section 3", "Hugging Face transformers, models/olmo3")


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of an OLMo 3 config; defaults are those of Olmo3Config."""
    cfg.assume(sliding_window=4096, hidden_size=4096, num_attention_heads=32)
    d_head = cfg.size("head_dim", default=cfg.size("hidden_size") // cfg.size("num_attention_heads"))
    whole, local = ropes_by_type(cfg, d_head, cfg.number("rope_theta", default=5e5), 5e5)
    base = olmo2.spec(cfg, "olmo3", whole)
    slides = every(base.n_layers, cfg, "sliding_window_pattern", default=4)
    layers = windows(cfg, base.n_layers, cfg.optional_size("sliding_window"), slides)
    return replace(base, windows=layers, layer_ropes=tuple(local if window else whole for window in layers))
