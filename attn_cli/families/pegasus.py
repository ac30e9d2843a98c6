"""Pegasus: mBART's norms and Marian's positions, without a norm after the embedding."""

from __future__ import annotations

from attn_cli.config import ConfigReader
from attn_cli.families import _seq2seq
from attn_cli.families.marian import IGNORED, PREFIXES
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("Zhang et al. 2020, arXiv 1912.08777, section 3", "Hugging Face transformers, models/pegasus")
TENSORS = _seq2seq.tensors(position_table=False, embed_norm=False, final_norm=True)


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a Pegasus config; defaults are those of PegasusConfig."""
    cfg.only("normalize_before", True)
    cfg.only("normalize_embedding", False)
    cfg.only("add_final_layer_norm", True)
    cfg.only("static_position_embeddings", True)
    return _seq2seq.read(
        cfg,
        "pegasus",
        positions="sinusoidal_halves",
        placement="pre",
        final_norm=True,
        decoder_start=cfg.token_id("decoder_start_token_id", default=0),
        vocab=50265,
        pad=0,
    )
