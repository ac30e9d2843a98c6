"""RoBERTa, and with it XLM-RoBERTa and CamemBERT: BERT whose positions begin behind the padding's row."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import bert
from attn_cli.spec import ModelSpec

SOURCES = (
    "Liu et al. 2019, arXiv 1907.11692, section 3",
    "Conneau et al. 2020 (XLM-RoBERTa), arXiv 1911.02116",
    "Hugging Face transformers, models/roberta",
)
PREFIXES = ("roberta.", "", "data2vec_text.")
IGNORED = bert.IGNORED
TENSORS = bert.TENSORS


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a RoBERTa config; defaults are those of RobertaConfig."""
    cfg.assume(vocab_size=50265, pad_token_id=1)
    base, pad, rows = bert.spec(cfg), cfg.token_id("pad_token_id"), cfg.size("max_position_embeddings", default=512)
    return replace(
        base,
        family="roberta",
        n_ctx=cfg.above("max_position_embeddings", rows - pad - 1, 0),
        position_offset=pad + 1,
        unplaced_id=pad,
        one_segment=True,
    )
