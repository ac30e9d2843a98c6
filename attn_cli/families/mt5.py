"""mT5: T5's version 1.1 in other languages; its stream is never scaled before the output matrix."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import t5
from attn_cli.families.t5 import IGNORED, PREFIXES, TENSORS
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("Xue et al. 2021, arXiv 2010.11934, section 3.2", "Hugging Face transformers, models/mt5")


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of an mT5 config; defaults are those of MT5Config."""
    cfg.assume(
        vocab_size=250112, d_ff=1024, num_layers=8, num_heads=6, feed_forward_proj="gated-gelu",
        scale_decoder_outputs=False,
    )  # fmt: skip
    return replace(t5.spec(cfg), family="mt5")
