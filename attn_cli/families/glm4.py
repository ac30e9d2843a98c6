"""GLM-4-0414: GLM-4 with norms after attention and MLP as well."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import glm
from attn_cli.families._parts import norm
from attn_cli.families.glm import IGNORED, PREFIXES
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("GLM Team 2024, arXiv 2406.12793, section 2", "Hugging Face transformers, models/glm4")


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a GLM-4-0414 config; defaults are those of Glm4Config."""
    return replace(glm.spec(cfg, "glm4"), placement="sandwich")


TENSORS = {
    **glm.TENSORS,
    **norm("layers.{i}.attn.out_norm", "layers.{i}.post_self_attn_layernorm"),
    **norm("layers.{i}.mlp.out_norm", "layers.{i}.post_mlp_layernorm"),
}
