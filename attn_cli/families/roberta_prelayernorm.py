"""RoBERTa-PreLayerNorm: RoBERTa with norms before each part and one more at the end."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import bert, roberta
from attn_cli.families._parts import norm
from attn_cli.families.roberta import IGNORED
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("Wettig et al. 2022, arXiv 2202.08005", "Hugging Face transformers, models/roberta_prelayernorm")
PREFIXES = ("roberta_prelayernorm.", "")
TENSORS = bert.TENSORS | {
    **norm("layers.{i}.attn.norm", "encoder.layer.{i}.attention.LayerNorm"),
    **norm("layers.{i}.mlp.norm", "encoder.layer.{i}.intermediate.LayerNorm"),
    **norm("final_norm", "LayerNorm"),
}


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a RoBERTa-PreLayerNorm config; defaults are those of RobertaPreLayerNormConfig."""
    return replace(roberta.spec(cfg), family="roberta-prelayernorm", placement="pre", final_norm=True)
