"""MPNet: BERT without segments, its positions behind the padding's row, and one relative bias for all layers."""

from __future__ import annotations

from attn_cli.config import ConfigReader
from attn_cli.families._parts import linear, norm
from attn_cli.spec import ModelSpec, Relative, stored

SOURCES = ("Song et al. 2020, arXiv 2004.09297, section 2.4", "Hugging Face transformers, models/mpnet")
PREFIXES = ("mpnet.", "")
IGNORED = ("embeddings.position_ids",)


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of an MPNet config; defaults are those of MPNetConfig."""
    d_model, n_heads = cfg.size("hidden_size", default=768), cfg.size("num_attention_heads", default=12)
    pad = 1  # fixed in the reference's code, whatever pad_token_id says
    rows = cfg.size("max_position_embeddings", default=512)
    table = cfg.size("relative_attention_num_buckets", default=32)
    cfg.above("relative_attention_num_buckets", table, 31)  # the reference always uses 32, up to distance 128
    return ModelSpec(
        family="mpnet",
        causal=False,
        n_layers=cfg.size("num_hidden_layers", default=12),
        n_heads=n_heads,
        n_kv_heads=n_heads,
        d_model=d_model,
        d_head=cfg.divided("hidden_size", d_model, "num_attention_heads", n_heads),
        d_mlp=cfg.size("intermediate_size", default=3072),
        n_ctx=cfg.above("max_position_embeddings", rows - pad - 1, 0),
        position_offset=pad + 1,
        unplaced_id=pad,
        vocab_size=cfg.size("vocab_size", default=30527),
        placement="post",
        norm_eps=cfg.number("layer_norm_eps", default=1e-12),
        embed_norm=True,
        positions="learned",
        relative=Relative(rows=table),
        activation=cfg.activation("hidden_act", default="gelu"),
    )


_LAYER = "encoder.layer.{i}."
_OURS = "layers.{i}."

TENSORS = {
    "embed.token": stored("embeddings.word_embeddings.weight", "vocab", "d_model", layout="rows"),
    "embed.position": stored("embeddings.position_embeddings.weight", "positions", "d_model", layout="rows"),
    **norm("embed.norm", "embeddings.LayerNorm"),
    "relative.weight": stored("encoder.relative_attention_bias.weight", "buckets", "heads", layout="rows"),
    **linear(f"{_OURS}attn.q", f"{_LAYER}attention.attn.q", "q", "d_model", bias="always"),
    **linear(f"{_OURS}attn.k", f"{_LAYER}attention.attn.k", "q", "d_model", bias="always"),
    **linear(f"{_OURS}attn.v", f"{_LAYER}attention.attn.v", "q", "d_model", bias="always"),
    **linear(f"{_OURS}attn.o", f"{_LAYER}attention.attn.o", "d_model", "q", bias="always"),
    **norm(f"{_OURS}attn.norm", f"{_LAYER}attention.LayerNorm"),
    **linear(f"{_OURS}mlp.up", f"{_LAYER}intermediate.dense", "d_mlp", "d_model", bias="always"),
    **linear(f"{_OURS}mlp.down", f"{_LAYER}output.dense", "d_model", "d_mlp", bias="always"),
    **norm(f"{_OURS}mlp.norm", f"{_LAYER}output.LayerNorm"),
}
