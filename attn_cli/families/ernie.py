"""ERNIE: BERT, trained on other masks; its vectors of tasks are not supported."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import bert
from attn_cli.families.bert import TENSORS
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("Sun et al. 2019, arXiv 1904.09223, section 3", "Hugging Face transformers, models/ernie")
PREFIXES = ("ernie.", "")
IGNORED = (*bert.IGNORED, "embeddings.task_type_embeddings.weight")


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of an ERNIE config; defaults are those of ErnieConfig."""
    cfg.only("use_task_id", False)
    cfg.ignore("task_type_vocab_size")
    return replace(bert.spec(cfg), family="ernie")
