"""Megatron-BERT: BERT with norms before each part, none after the embedding, and one at the end."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import bert
from attn_cli.families._parts import norm
from attn_cli.families.bert import IGNORED
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("Shoeybi et al. 2019, arXiv 1909.08053, section 5.3", "Hugging Face transformers, models/megatron_bert")
PREFIXES = ("bert.", "")
TENSORS = {name: row for name, row in bert.TENSORS.items() if "norm" not in name} | {
    **norm("layers.{i}.attn.norm", "encoder.layer.{i}.attention.ln"),
    **norm("layers.{i}.mlp.norm", "encoder.layer.{i}.ln"),
    **norm("final_norm", "encoder.ln"),
}


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a Megatron-BERT config; defaults are those of MegatronBertConfig."""
    cfg.assume(vocab_size=29056, hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096)
    return replace(bert.spec(cfg), family="megatron-bert", placement="pre", embed_norm=False, final_norm=True)
