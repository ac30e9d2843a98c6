"""Blenderbot: mBART's norms, learned positions from row 0, no norm after the embedding."""

from __future__ import annotations

from attn_cli.config import ConfigReader
from attn_cli.families import _seq2seq
from attn_cli.families._seq2seq import IGNORED, PREFIXES
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("Roller et al. 2020, arXiv 2004.13637, section 2.2", "Hugging Face transformers, models/blenderbot")
TENSORS = _seq2seq.tensors(position_table=True, embed_norm=False, final_norm=True)


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a Blenderbot config; defaults are those of BlenderbotConfig."""
    cfg.assume(
        d_model=2560, encoder_layers=2, decoder_layers=24, encoder_ffn_dim=10240, decoder_ffn_dim=10240,
        encoder_attention_heads=32, decoder_attention_heads=32, max_position_embeddings=128,
    )  # fmt: skip
    cfg.only("normalize_before", True)
    cfg.only("normalize_embedding", False)
    cfg.only("add_final_layer_norm", True)
    cfg.only("static_position_embeddings", False)
    cfg.ignore("layernorm_variant")  # a name for these very norms
    return _seq2seq.read(
        cfg,
        "blenderbot",
        positions="learned",
        placement="pre",
        final_norm=True,
        decoder_start=cfg.token_id("decoder_start_token_id", default=1),
        vocab=8008,
        pad=0,
    )
