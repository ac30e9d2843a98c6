"""CodeGen: GPT-J with queries, values and keys in one matrix, in that order, cut into four as they were trained."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import gptj
from attn_cli.families.gptj import PREFIXES
from attn_cli.spec import ModelSpec, stored

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("Nijkamp et al. 2022, arXiv 2203.13474, section 2.2", "Hugging Face transformers, models/codegen")
IGNORED = (*gptj.IGNORED, "h.*.attn.causal_mask")


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a CodeGen config; defaults are those of CodeGenConfig."""
    base = gptj.spec(cfg)
    cfg.divided("n_head", base.n_heads, "the cut of queries, values and keys into", 4)
    return replace(base, family="codegen")


_QVK = ("q", "kv", "kv")
TENSORS = {
    **gptj.TENSORS,
    **{
        f"layers.{{i}}.attn.{ours}.weight": stored(
            "h.{i}.attn.qkv_proj.weight", _QVK[part], "d_model", split=_QVK, part=part, per="four"
        )
        for part, ours in enumerate("qvk")
    },
}
