"""DistilBERT: BERT without segments."""

from __future__ import annotations

from attn_cli.config import ConfigReader
from attn_cli.families._parts import linear, norm
from attn_cli.spec import ModelSpec, stored

SOURCES = ("Sanh et al. 2019, arXiv 1910.01108, section 3", "Hugging Face transformers, models/distilbert")
PREFIXES = ("distilbert.", "")
IGNORED = ("embeddings.position_ids",)


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a DistilBERT config; defaults are those of DistilBertConfig."""
    cfg.ignore("qa_dropout", "seq_classif_dropout", "tie_weights_")
    cfg.ignore("sinusoidal_pos_embds")  # only says how the table began; it stands in the file either way
    cfg.only("pruned_heads", {})
    d_model, n_heads = (
        cfg.size("dim", "hidden_size", default=768),
        cfg.size("n_heads", "num_attention_heads", default=12),
    )
    return ModelSpec(
        family="distilbert",
        causal=False,
        n_layers=cfg.size("n_layers", "num_hidden_layers", default=6),
        n_heads=n_heads,
        n_kv_heads=n_heads,
        d_model=d_model,
        d_head=cfg.divided("dim", d_model, "n_heads", n_heads),
        d_mlp=cfg.size("hidden_dim", default=3072),
        n_ctx=cfg.size("max_position_embeddings", default=512),
        vocab_size=cfg.size("vocab_size", default=30522),
        placement="post",
        norm_eps=1e-12,  # fixed in the reference's code
        embed_norm=True,
        positions="learned",
        activation=cfg.activation("activation", default="gelu"),
    )


_LAYER = "transformer.layer.{i}."
_OURS = "layers.{i}."

TENSORS = {
    "embed.token": stored("embeddings.word_embeddings.weight", "vocab", "d_model", layout="rows"),
    "embed.position": stored("embeddings.position_embeddings.weight", "positions", "d_model", layout="rows"),
    **norm("embed.norm", "embeddings.LayerNorm"),
    **linear(f"{_OURS}attn.q", f"{_LAYER}attention.q_lin", "q", "d_model", bias="always"),
    **linear(f"{_OURS}attn.k", f"{_LAYER}attention.k_lin", "q", "d_model", bias="always"),
    **linear(f"{_OURS}attn.v", f"{_LAYER}attention.v_lin", "q", "d_model", bias="always"),
    **linear(f"{_OURS}attn.o", f"{_LAYER}attention.out_lin", "d_model", "q", bias="always"),
    **norm(f"{_OURS}attn.norm", f"{_LAYER}sa_layer_norm"),
    **linear(f"{_OURS}mlp.up", f"{_LAYER}ffn.lin1", "d_mlp", "d_model", bias="always"),
    **linear(f"{_OURS}mlp.down", f"{_LAYER}ffn.lin2", "d_model", "d_mlp", bias="always"),
    **norm(f"{_OURS}mlp.norm", f"{_LAYER}output_layer_norm"),
}
