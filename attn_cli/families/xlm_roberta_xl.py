"""XLM-RoBERTa-XL: RoBERTa with norms before each part, none after the embedding, and one at the end."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import bert, roberta
from attn_cli.families._parts import norm
from attn_cli.families.roberta import IGNORED, PREFIXES
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("Goyal et al. 2021, arXiv 2105.00572, section 2", "Hugging Face transformers, models/xlm_roberta_xl")
TENSORS = {name: row for name, row in bert.TENSORS.items() if "norm" not in name} | {
    **norm("layers.{i}.attn.norm", "encoder.layer.{i}.attention.self_attn_layer_norm"),
    **norm("layers.{i}.mlp.norm", "encoder.layer.{i}.LayerNorm"),
    **norm("final_norm", "encoder.LayerNorm"),
}


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of an XLM-RoBERTa-XL config; defaults are those of XLMRobertaXLConfig."""
    cfg.assume(
        vocab_size=250880, hidden_size=2560, num_hidden_layers=36, num_attention_heads=32, intermediate_size=10240,
        max_position_embeddings=514, type_vocab_size=1, layer_norm_eps=1e-5,
    )  # fmt: skip
    return replace(roberta.spec(cfg), family="xlm-roberta-xl", placement="pre", embed_norm=False, final_norm=True)
