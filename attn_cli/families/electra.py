"""ELECTRA: BERT whose embeddings may have a width of their own, projected after their norm."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import bert
from attn_cli.families._parts import linear, norm
from attn_cli.spec import ModelSpec, stored

SOURCES = ("Clark et al. 2020, arXiv 2003.10555, section 3.2", "Hugging Face transformers, models/electra")
PREFIXES = ("electra.", "")
IGNORED = bert.IGNORED


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of an ELECTRA config; defaults are those of ElectraConfig."""
    cfg.ignore("summary_last_dropout")
    cfg.assume(hidden_size=256, num_attention_heads=4, intermediate_size=1024)
    base, d_embed = bert.spec(cfg), cfg.size("embedding_size", default=128)
    return replace(base, family="electra", d_embed=d_embed, embed_project="normed" if d_embed != base.d_model else "")


TENSORS = bert.TENSORS | {
    "embed.token": stored("embeddings.word_embeddings.weight", "vocab", "d_embed", layout="rows"),
    "embed.position": stored("embeddings.position_embeddings.weight", "positions", "d_embed", layout="rows"),
    "embed.segment": stored("embeddings.token_type_embeddings.weight", "segments", "d_embed", layout="rows"),
    **norm("embed.norm", "embeddings.LayerNorm", "d_embed"),
    **linear("embed.project", "embeddings_project", "d_model", "d_embed", bias="always", when="embed_project"),
}
