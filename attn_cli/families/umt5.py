"""UMT5: mT5 whose layers each have a relative bias of their own."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import t5
from attn_cli.families.t5 import IGNORED, PREFIXES
from attn_cli.spec import ModelSpec, stored

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("Chung et al. 2023, arXiv 2304.09151, section 4", "Hugging Face transformers, models/umt5")
TENSORS = {name: row for name, row in t5.TENSORS.items() if not name.endswith("relative.weight")} | {
    f"{ours}layers.{{i}}.attn.relative.weight": stored(
        f"{theirs}.block.{{i}}.layer.0.SelfAttention.relative_attention_bias.weight", "buckets", "heads", layout="rows"
    )
    for ours, theirs in (("", "encoder"), ("decoder.", "decoder"))
}


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a UMT5 config; defaults are those of UMT5Config."""
    cfg.assume(
        vocab_size=250112, d_ff=1024, num_layers=8, num_heads=6, feed_forward_proj="gated-gelu",
    )  # fmt: skip
    return replace(t5.spec(cfg), family="umt5")
