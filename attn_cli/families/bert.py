"""BERT: post-norm encoder with learned positions and segments."""

from __future__ import annotations

from attn_cli.config import ConfigReader
from attn_cli.spec import ModelSpec, Stored, stored

SOURCES = ("Devlin et al. 2019, arXiv 1810.04805, section 3", "Hugging Face transformers, models/bert")
PREFIXES = ("bert.", "")
IGNORED = ("embeddings.position_ids", "embeddings.token_type_ids")

_ATTN = "encoder.layer.{i}.attention."


def _norm(path: str, canonical: str) -> dict[str, Stored]:
    """A LayerNorm, whose parameters the first checkpoints call gamma and beta."""
    return {
        f"{canonical}.weight": stored((f"{path}LayerNorm.weight", f"{path}LayerNorm.gamma"), "d_model"),
        f"{canonical}.bias": stored((f"{path}LayerNorm.bias", f"{path}LayerNorm.beta"), "d_model"),
    }


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a BERT config; defaults are those of BertConfig."""
    cfg.only("is_decoder", False)
    cfg.only("add_cross_attention", False)
    cfg.only("position_embedding_type", "absolute")
    cfg.only("pruned_heads", {})
    d_model, n_heads = cfg.size("hidden_size", default=768), cfg.size("num_attention_heads", default=12)
    return ModelSpec(
        family="bert",
        causal=False,
        n_layers=cfg.size("num_hidden_layers", default=12),
        n_heads=n_heads,
        n_kv_heads=n_heads,
        d_model=d_model,
        d_head=cfg.divided("hidden_size", d_model, "num_attention_heads", n_heads),
        d_mlp=cfg.size("intermediate_size", default=3072),
        n_ctx=cfg.size("max_position_embeddings", default=512),
        vocab_size=cfg.size("vocab_size", default=30522),
        n_segments=cfg.size("type_vocab_size", default=2),
        placement="post",
        norm_eps=cfg.number("layer_norm_eps", default=1e-12),
        embed_norm=True,
        positions="learned",
        activation=cfg.activation("hidden_act", default="gelu"),
    )


TENSORS = {
    "embed.token": stored("embeddings.word_embeddings.weight", "vocab", "d_model", layout="rows"),
    "embed.position": stored("embeddings.position_embeddings.weight", "positions", "d_model", layout="rows"),
    "embed.segment": stored("embeddings.token_type_embeddings.weight", "segments", "d_model", layout="rows"),
    **_norm("embeddings.", "embed.norm"),
    **{
        f"layers.{{i}}.attn.{ours}.{what}": stored(f"{_ATTN}self.{theirs}.{what}", "q", *rest)
        for ours, theirs in (("q", "query"), ("k", "key"), ("v", "value"))
        for what, rest in (("weight", ("d_model",)), ("bias", ()))
    },
    "layers.{i}.attn.o.weight": stored(f"{_ATTN}output.dense.weight", "d_model", "q"),
    "layers.{i}.attn.o.bias": stored(f"{_ATTN}output.dense.bias", "d_model"),
    **_norm(f"{_ATTN}output.", "layers.{i}.attn.norm"),
    "layers.{i}.mlp.up.weight": stored("encoder.layer.{i}.intermediate.dense.weight", "d_mlp", "d_model"),
    "layers.{i}.mlp.up.bias": stored("encoder.layer.{i}.intermediate.dense.bias", "d_mlp"),
    "layers.{i}.mlp.down.weight": stored("encoder.layer.{i}.output.dense.weight", "d_model", "d_mlp"),
    "layers.{i}.mlp.down.bias": stored("encoder.layer.{i}.output.dense.bias", "d_model"),
    **_norm("encoder.layer.{i}.output.", "layers.{i}.mlp.norm"),
}
