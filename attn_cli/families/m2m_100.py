"""M2M-100 and NLLB: mBART's norms, no norm after the embedding, and sinusoids that begin behind the padding's row."""

from __future__ import annotations

from attn_cli.config import ConfigReader
from attn_cli.families import _seq2seq
from attn_cli.families.pegasus import TENSORS
from attn_cli.spec import ModelSpec

SOURCES = (
    "Fan et al. 2020, arXiv 2010.11125, section 4",
    "NLLB Team 2022, arXiv 2207.04672, section 6",
    "Hugging Face transformers, models/m2m_100",
)
PREFIXES = _seq2seq.PREFIXES
IGNORED = (*_seq2seq.IGNORED, "encoder.embed_positions.weights", "decoder.embed_positions.weights")

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of an M2M-100 config; defaults are those of M2M100Config."""
    cfg.assume(activation_function="relu", scale_embedding=True)
    cfg.only("normalize_before", True)
    cfg.only("normalize_embedding", False)
    cfg.only("add_final_layer_norm", True)
    cfg.only("static_position_embeddings", True)
    pad = cfg.token_id("pad_token_id", default=1)
    return _seq2seq.read(
        cfg,
        "m2m_100",
        positions="sinusoidal_steps",
        position_offset=pad + 1,
        unplaced_id=pad,
        n_ctx_hard=False,
        placement="pre",
        final_norm=True,
        decoder_start=cfg.token_id("decoder_start_token_id", default=2),
        vocab=128112,
        pad=1,
    )
