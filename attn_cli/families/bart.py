"""BART: a post-norm encoder-decoder with learned positions that begin at row 2."""

from __future__ import annotations

from attn_cli.config import ConfigReader
from attn_cli.families import _seq2seq
from attn_cli.spec import ModelSpec

SOURCES = ("Lewis et al. 2020, arXiv 1910.13461, section 2.1", "Hugging Face transformers, models/bart")
PREFIXES, IGNORED = _seq2seq.PREFIXES, _seq2seq.IGNORED
TENSORS = _seq2seq.tensors(position_table=True, embed_norm=True, final_norm=False)


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a BART config; defaults are those of BartConfig."""
    cfg.only("normalize_before", False)
    cfg.only("normalize_embedding", True)
    cfg.only("add_final_layer_norm", False)
    cfg.only("static_position_embeddings", False)
    return _seq2seq.read(
        cfg,
        "bart",
        positions="learned",
        position_offset=2,
        placement="post",
        embed_norm=True,
        decoder_start=cfg.token_id("decoder_start_token_id", default=2),
        vocab=50265,
        pad=1,
    )
