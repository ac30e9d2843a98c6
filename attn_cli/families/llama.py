"""Llama: pre-norm decoder with RMSNorm, rotary positions, grouped-query attention and a gated MLP."""

from __future__ import annotations

from attn_cli.config import ConfigReader
from attn_cli.families._parts import kv_heads, linear, norm
from attn_cli.families._rope import rope
from attn_cli.spec import ModelSpec, Rope, stored

SOURCES = (
    "Touvron et al. 2023, arXiv 2302.13971, section 2.2",
    "Ainslie et al. 2023 (grouped queries), arXiv 2305.13245",
    "Hugging Face transformers, models/llama",
)
PREFIXES = ("model.", "")
IGNORED = ("layers.*.self_attn.rotary_emb.inv_freq", "rotary_emb.inv_freq")


def spec(
    cfg: ConfigReader, family: str = "llama", turns: Rope | None = None, partial: float | None = None
) -> ModelSpec:
    """The spec of a Llama config; defaults are those of LlamaConfig, unless a relative made the reader assume others.

    `turns`: rotary positions that the relative has read itself; `partial`: how much of each head turns, where it may be less.
    """
    d_model, n_heads = cfg.size("hidden_size", default=4096), cfg.size("num_attention_heads", default=32)
    d_head = cfg.optional_size("head_dim") or cfg.divided("hidden_size", d_model, "num_attention_heads", n_heads)
    attn_bias = cfg.flag("attention_bias", default=False)
    cfg.only("rope_interleaved", False)
    cfg.ignore("is_llama_config")
    return ModelSpec(
        family=family,
        causal=True,
        n_layers=cfg.size("num_hidden_layers", default=32),
        n_heads=n_heads,
        n_kv_heads=kv_heads(cfg, n_heads),
        d_model=d_model,
        d_head=d_head,
        d_mlp=cfg.size("intermediate_size", default=11008),
        n_ctx=cfg.size("max_position_embeddings", default=2048),
        n_ctx_hard=False,
        vocab_size=cfg.size("vocab_size", default=32000),
        placement="pre",
        norm="rms",
        norm_eps=cfg.number("rms_norm_eps", default=1e-6),
        norm_bias=False,
        final_norm=True,
        positions="rotary",
        rope=turns or rope(cfg, d_head, partial=partial),
        activation=cfg.activation("hidden_act", default="silu"),
        gated_mlp=True,
        attn_bias=attn_bias,
        output_bias=attn_bias,
        mlp_bias=cfg.flag("mlp_bias", default=False),
        tied_output=cfg.flag("tie_word_embeddings", default=False),
        logits=True,
    )


_ATTN, _MLP = "layers.{i}.self_attn.", "layers.{i}.mlp."


TENSORS = {
    "embed.token": stored("embed_tokens.weight", "vocab", "d_model", layout="rows"),
    **norm("layers.{i}.attn.norm", "layers.{i}.input_layernorm"),
    **linear("layers.{i}.attn.q", f"{_ATTN}q_proj", "q", "d_model", bias="attn_bias"),
    **linear("layers.{i}.attn.k", f"{_ATTN}k_proj", "kv", "d_model", bias="attn_bias"),
    **linear("layers.{i}.attn.v", f"{_ATTN}v_proj", "kv", "d_model", bias="attn_bias"),
    **linear("layers.{i}.attn.o", f"{_ATTN}o_proj", "d_model", "q", bias="output_bias"),
    **norm("layers.{i}.attn.q_norm", f"{_ATTN}q_norm", "d_head", when="qk_norm=head"),
    **norm("layers.{i}.attn.k_norm", f"{_ATTN}k_norm", "d_head", when="qk_norm=head"),
    **norm("layers.{i}.mlp.norm", "layers.{i}.post_attention_layernorm", when="mlp_norm"),
    **linear("layers.{i}.mlp.gate", f"{_MLP}gate_proj", "d_mlp", "d_model", bias="mlp_bias"),
    **linear("layers.{i}.mlp.up", f"{_MLP}up_proj", "d_mlp", "d_model", bias="mlp_bias"),
    **linear("layers.{i}.mlp.down", f"{_MLP}down_proj", "d_model", "d_mlp", bias="mlp_bias"),
    **norm("final_norm", "norm"),
    "head.weight": stored("/lm_head.weight", "vocab", "d_model", optional=True),
}
