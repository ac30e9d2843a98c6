"""RemBERT: BERT whose embeddings have a width of their own, projected after their norm."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import bert, electra
from attn_cli.families._parts import linear
from attn_cli.families.bert import IGNORED
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("Chung et al. 2021, arXiv 2010.12821, section 4", "Hugging Face transformers, models/rembert")
PREFIXES = ("rembert.", "")
TENSORS = electra.TENSORS | linear(
    "embed.project", "encoder.embedding_hidden_mapping_in", "d_model", "d_embed", bias="always"
)


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a RemBERT config; defaults are those of RemBertConfig."""
    cfg.assume(
        vocab_size=250300, hidden_size=1152, num_hidden_layers=32, num_attention_heads=18, intermediate_size=4608
    )
    cfg.ignore("output_embedding_size", "classifier_dropout_prob")
    d_embed = cfg.size("input_embedding_size", default=256)
    return replace(bert.spec(cfg), family="rembert", d_embed=d_embed, embed_project="normed")
