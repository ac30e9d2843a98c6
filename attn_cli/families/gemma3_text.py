"""Gemma 3 (text): Gemma 2 with a norm of queries and keys in place of the caps, and faster rotary positions in local layers."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import gemma2
from attn_cli.families._parts import every, windows
from attn_cli.families._rope import ropes_by_type
from attn_cli.families.gemma2 import IGNORED, PREFIXES, TENSORS
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("Gemma Team 2025, arXiv 2503.19786, section 2", "Hugging Face transformers, models/gemma3")


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a Gemma 3 text config; defaults are those of Gemma3TextConfig."""
    cfg.assume(
        vocab_size=262208, head_dim=256, max_position_embeddings=131072,
        final_logit_softcapping=None, attn_logit_softcapping=None,
    )  # fmt: skip
    theta, local_theta = cfg.number("rope_theta", default=1e6), cfg.number("rope_local_base_freq", default=1e4)
    whole, local = ropes_by_type(cfg, cfg.size("head_dim"), theta, local_theta)
    base = gemma2.spec(cfg, "gemma3_text", whole)
    slides = every(base.n_layers, cfg, "sliding_window_pattern", "_sliding_window_pattern", default=6)
    layers = windows(cfg, base.n_layers, cfg.optional_size("sliding_window"), slides)
    return replace(
        base,
        softcap=None,  # the reference reads attn_logit_softcapping and passes it nowhere
        qk_norm="head",
        windows=layers,
        layer_ropes=tuple(local if window else whole for window in layers),
    )
