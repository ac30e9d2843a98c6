"""mBART: BART with norms before each part and after each stack; the decoder begins with the target's language."""

from __future__ import annotations

from attn_cli.config import ConfigReader
from attn_cli.families import _seq2seq
from attn_cli.spec import ModelSpec

SOURCES = ("Liu et al. 2020, arXiv 2001.08210, section 2.2", "Hugging Face transformers, models/mbart")
PREFIXES, IGNORED = _seq2seq.PREFIXES, _seq2seq.IGNORED
TENSORS = _seq2seq.tensors(position_table=True, embed_norm=True, final_norm=True)


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of an mBART config; defaults are those of MBartConfig."""
    cfg.only("normalize_before", True)
    cfg.only("normalize_embedding", True)
    cfg.only("add_final_layer_norm", True)
    cfg.only("static_position_embeddings", False)
    return _seq2seq.read(
        cfg,
        "mbart",
        positions="learned",
        position_offset=2,
        placement="pre",
        embed_norm=True,
        final_norm=True,
        vocab=50265,
        pad=1,
    )
