"""ALBERT: BERT whose layers share their weights in groups, with narrow embeddings projected after their norm."""

from __future__ import annotations

from attn_cli.config import ConfigReader
from attn_cli.families._parts import linear, norm
from attn_cli.spec import ModelSpec, stored

SOURCES = ("Lan et al. 2020, arXiv 1909.11942, section 3.1", "Hugging Face transformers, models/albert")
PREFIXES = ("albert.", "")
IGNORED = ("embeddings.position_ids", "embeddings.token_type_ids")


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of an ALBERT config; defaults are those of AlbertConfig."""
    cfg.only("inner_group_num", 1)
    cfg.only("position_embedding_type", "absolute")
    cfg.ignore("classifier_dropout_prob", "down_scale_factor", "gap_size", "net_structure_type", "num_memory_blocks")
    d_model, n_heads = cfg.size("hidden_size", default=4096), cfg.size("num_attention_heads", default=64)
    return ModelSpec(
        family="albert",
        causal=False,
        n_layers=cfg.size("num_hidden_layers", default=12),
        n_groups=cfg.size("num_hidden_groups", default=1),
        n_heads=n_heads,
        n_kv_heads=n_heads,
        d_model=d_model,
        d_head=cfg.divided("hidden_size", d_model, "num_attention_heads", n_heads),
        d_mlp=cfg.size("intermediate_size", default=16384),
        d_embed=cfg.size("embedding_size", default=128),
        embed_project="normed",
        n_ctx=cfg.size("max_position_embeddings", default=512),
        vocab_size=cfg.size("vocab_size", default=30000),
        n_segments=cfg.size("type_vocab_size", default=2),
        placement="post",
        norm_eps=cfg.number("layer_norm_eps", default=1e-12),
        embed_norm=True,
        positions="learned",
        activation=cfg.activation("hidden_act", default="gelu_new"),
    )


_LAYER = "encoder.albert_layer_groups.{i}.albert_layers.0."
_OURS = "layers.{i}."

TENSORS = {
    "embed.token": stored("embeddings.word_embeddings.weight", "vocab", "d_embed", layout="rows"),
    "embed.position": stored("embeddings.position_embeddings.weight", "positions", "d_embed", layout="rows"),
    "embed.segment": stored("embeddings.token_type_embeddings.weight", "segments", "d_embed", layout="rows"),
    **norm("embed.norm", "embeddings.LayerNorm", "d_embed"),
    **linear("embed.project", "encoder.embedding_hidden_mapping_in", "d_model", "d_embed", bias="always"),
    **linear(f"{_OURS}attn.q", f"{_LAYER}attention.query", "q", "d_model", bias="always"),
    **linear(f"{_OURS}attn.k", f"{_LAYER}attention.key", "q", "d_model", bias="always"),
    **linear(f"{_OURS}attn.v", f"{_LAYER}attention.value", "q", "d_model", bias="always"),
    **linear(f"{_OURS}attn.o", f"{_LAYER}attention.dense", "d_model", "q", bias="always"),
    **norm(f"{_OURS}attn.norm", f"{_LAYER}attention.LayerNorm"),
    **linear(f"{_OURS}mlp.up", f"{_LAYER}ffn", "d_mlp", "d_model", bias="always"),
    **linear(f"{_OURS}mlp.down", f"{_LAYER}ffn_output", "d_model", "d_mlp", bias="always"),
    **norm(f"{_OURS}mlp.norm", f"{_LAYER}full_layer_layer_norm"),
}
