"""Phi: one LayerNorm feeds attention and MLP side by side; part of each head turns; biases everywhere."""

from __future__ import annotations

from attn_cli.config import ConfigReader
from attn_cli.families._parts import kv_heads, linear, norm
from attn_cli.families._rope import rope
from attn_cli.spec import ModelSpec, stored

SOURCES = ("Li et al. 2023, arXiv 2309.05463, section 2.2", "Hugging Face transformers, models/phi")
PREFIXES = ("model.", "")
IGNORED = ("layers.*.self_attn.rotary_emb.inv_freq",)


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a Phi config; defaults are those of PhiConfig."""
    d_model, n_heads = cfg.size("hidden_size", default=2048), cfg.size("num_attention_heads", default=32)
    d_head = cfg.divided("hidden_size", d_model, "num_attention_heads", n_heads)
    return ModelSpec(
        family="phi",
        causal=True,
        n_layers=cfg.size("num_hidden_layers", default=24),
        n_heads=n_heads,
        n_kv_heads=kv_heads(cfg, n_heads),
        d_model=d_model,
        d_head=d_head,
        d_mlp=cfg.size("intermediate_size", default=8192),
        n_ctx=cfg.size("max_position_embeddings", default=2048),
        n_ctx_hard=False,
        vocab_size=cfg.size("vocab_size", default=51200),
        placement="parallel",
        norm_eps=cfg.number("layer_norm_eps", default=1e-5),
        mlp_norm=False,
        final_norm=True,
        positions="rotary",
        rope=rope(cfg, d_head, partial=0.5),
        qk_norm="head" if cfg.flag("qk_layernorm", default=False) else "none",
        activation=cfg.activation("hidden_act", default="gelu_new"),
        tied_output=cfg.flag("tie_word_embeddings", default=False),
        head_bias=True,
        logits=True,
    )


_LAYER = "layers.{i}."
TENSORS = {
    "embed.token": stored("embed_tokens.weight", "vocab", "d_model", layout="rows"),
    **norm("layers.{i}.attn.norm", f"{_LAYER}input_layernorm"),
    **linear("layers.{i}.attn.q", f"{_LAYER}self_attn.q_proj", "q", "d_model", bias="always"),
    **linear("layers.{i}.attn.k", f"{_LAYER}self_attn.k_proj", "kv", "d_model", bias="always"),
    **linear("layers.{i}.attn.v", f"{_LAYER}self_attn.v_proj", "kv", "d_model", bias="always"),
    **linear("layers.{i}.attn.o", f"{_LAYER}self_attn.dense", "d_model", "q", bias="always"),
    **norm("layers.{i}.attn.q_norm", f"{_LAYER}self_attn.q_layernorm", "d_head", when="qk_norm=head"),
    **norm("layers.{i}.attn.k_norm", f"{_LAYER}self_attn.k_layernorm", "d_head", when="qk_norm=head"),
    **linear("layers.{i}.mlp.up", f"{_LAYER}mlp.fc1", "d_mlp", "d_model", bias="always"),
    **linear("layers.{i}.mlp.down", f"{_LAYER}mlp.fc2", "d_model", "d_mlp", bias="always"),
    **norm("final_norm", "final_layernorm"),
    **linear("head", "/lm_head", "vocab", "d_model", bias="always", optional=True),
}
