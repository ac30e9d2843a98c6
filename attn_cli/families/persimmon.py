"""Persimmon: queries, keys and values fused head by head, a LayerNorm of queries and keys, a squared ReLU."""

from __future__ import annotations

from attn_cli.config import ConfigReader
from attn_cli.families._parts import fused_qkv, linear, norm
from attn_cli.families._rope import rope
from attn_cli.spec import ModelSpec, stored

SOURCES = ("Elsen et al. 2023, Releasing Persimmon-8B", "Hugging Face transformers, models/persimmon")
PREFIXES = ("model.", "")
IGNORED = ("layers.*.self_attn.rotary_emb.inv_freq",)


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a Persimmon config; defaults are those of PersimmonConfig."""
    d_model, n_heads = cfg.size("hidden_size", default=4096), cfg.size("num_attention_heads", default=64)
    d_head = cfg.divided("hidden_size", d_model, "num_attention_heads", n_heads)
    return ModelSpec(
        family="persimmon",
        causal=True,
        n_layers=cfg.size("num_hidden_layers", default=36),
        n_heads=n_heads,
        n_kv_heads=n_heads,
        d_model=d_model,
        d_head=d_head,
        d_mlp=cfg.size("intermediate_size", default=16384),
        n_ctx=cfg.size("max_position_embeddings", default=16384),
        n_ctx_hard=False,
        vocab_size=cfg.size("vocab_size", default=262144),
        placement="pre",
        norm_eps=cfg.number("layer_norm_eps", default=1e-5),
        final_norm=True,
        positions="rotary",
        rope=rope(cfg, d_head, partial=0.5),
        qk_norm="head" if cfg.flag("qk_layernorm", default=True) else "none",
        activation=cfg.activation("hidden_act", default="relu2"),
        tied_output=cfg.flag("tie_word_embeddings", default=False),
        logits=True,
    )


_LAYER = "layers.{i}."
TENSORS = {
    "embed.token": stored("embed_tokens.weight", "vocab", "d_model", layout="rows"),
    **norm("layers.{i}.attn.norm", f"{_LAYER}input_layernorm"),
    **fused_qkv(f"{_LAYER}self_attn.query_key_value", bias="always", per="heads"),
    **linear("layers.{i}.attn.o", f"{_LAYER}self_attn.dense", "d_model", "q", bias="always"),
    **norm("layers.{i}.attn.q_norm", f"{_LAYER}self_attn.q_layernorm", "d_head", when="qk_norm=head"),
    **norm("layers.{i}.attn.k_norm", f"{_LAYER}self_attn.k_layernorm", "d_head", when="qk_norm=head"),
    **norm("layers.{i}.mlp.norm", f"{_LAYER}post_attention_layernorm"),
    **linear("layers.{i}.mlp.up", f"{_LAYER}mlp.dense_h_to_4h", "d_mlp", "d_model", bias="always"),
    **linear("layers.{i}.mlp.down", f"{_LAYER}mlp.dense_4h_to_h", "d_model", "d_mlp", bias="always"),
    **norm("final_norm", "final_layernorm"),
    "head.weight": stored("/lm_head.weight", "vocab", "d_model", optional=True),
}
