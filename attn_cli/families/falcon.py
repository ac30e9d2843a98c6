"""Falcon: one or few key heads; attention and MLP side by side; rotary positions, or ALiBi in the RW versions."""

from __future__ import annotations

from attn_cli.config import ConfigReader
from attn_cli.families._parts import fused_qkv, linear
from attn_cli.families._rope import rope
from attn_cli.spec import Alibi, ModelSpec, stored

SOURCES = (
    "Almazrouei et al. 2023, arXiv 2311.16867, section 4",
    "Penedo et al. 2023 (RefinedWeb), arXiv 2306.01116",
    "Hugging Face transformers, models/falcon",
)
PREFIXES = ("transformer.", "")
IGNORED = ("h.*.self_attention.rotary.inv_freq", "h.*.self_attention.rotary_emb.inv_freq")


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a Falcon config; defaults are those of FalconConfig."""
    d_model, n_heads = cfg.size("n_embed", "hidden_size", default=4544), cfg.size("num_attention_heads", default=71)
    d_head = cfg.divided("hidden_size", d_model, "num_attention_heads", n_heads)
    new, parallel = cfg.flag("new_decoder_architecture", default=False), cfg.flag("parallel_attn", default=True)
    given_kv, multi_query = cfg.size("num_kv_heads", default=n_heads), cfg.flag("multi_query", default=True)
    n_kv_heads = given_kv if new else 1 if multi_query else n_heads
    cfg.divided("num_attention_heads", n_heads, "num_kv_heads", n_kv_heads)
    cfg.only("apply_residual_connection_post_layernorm", False)
    if new and not parallel:
        cfg.refuse("parallel_attn", False, "parallel_attn true with new_decoder_architecture")
    norms = cfg.size("num_ln_in_parallel_attn", default=2 if new else 1)
    if norms > (2 if new else 1):
        cfg.refuse("num_ln_in_parallel_attn", norms, "one norm, or two with new_decoder_architecture")
    biased, alibi = cfg.flag("bias", default=False), cfg.flag("alibi", default=False)
    cfg.ignore("rope_theta", "rope_scaling", "rope_parameters")  # without a meaning beside ALiBi
    return ModelSpec(
        family="falcon",
        causal=True,
        n_layers=cfg.size("num_hidden_layers", default=32),
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        d_model=d_model,
        d_head=d_head,
        d_mlp=cfg.size("ffn_hidden_size", default=4 * d_model),
        n_ctx=cfg.size("max_position_embeddings", default=2048),
        n_ctx_hard=False,
        vocab_size=cfg.size("vocab_size", default=65024),
        placement="parallel" if parallel else "pre",
        norm_eps=cfg.number("layer_norm_epsilon", default=1e-5),
        mlp_norm=not parallel or norms == 2,
        final_norm=True,
        positions="alibi" if alibi else "rotary",
        rope=None if alibi else rope(cfg, d_head),
        alibi=Alibi(before_scale=True, bfloat16=True) if alibi else None,
        activation=cfg.activation("activation", default="gelu"),
        attn_bias=biased,
        output_bias=biased,
        mlp_bias=biased,
        tied_output=cfg.flag("tie_word_embeddings", default=True),
        logits=True,
    )


_LAYER = "h.{i}."
TENSORS = {
    "embed.token": stored("word_embeddings.weight", "vocab", "d_model", layout="rows"),
    **{
        f"layers.{{i}}.{ours}.norm.{what}": stored(
            tuple(f"{_LAYER}{name}.{what}" for name in names), "d_model", when=when
        )
        for ours, names, when in (
            ("attn", ("ln_attn", "input_layernorm"), ""),
            ("mlp", ("ln_mlp", "post_attention_layernorm"), "mlp_norm"),
        )
        for what in ("weight", "bias")
    },
    **fused_qkv(f"{_LAYER}self_attention.query_key_value", bias="attn_bias", per="kv_heads"),
    **linear("layers.{i}.attn.o", f"{_LAYER}self_attention.dense", "d_model", "q", bias="output_bias"),
    **linear("layers.{i}.mlp.up", f"{_LAYER}mlp.dense_h_to_4h", "d_mlp", "d_model", bias="mlp_bias"),
    **linear("layers.{i}.mlp.down", f"{_LAYER}mlp.dense_4h_to_h", "d_model", "d_mlp", bias="mlp_bias"),
    "final_norm.weight": stored("ln_f.weight", "d_model"),
    "final_norm.bias": stored("ln_f.bias", "d_model"),
    "head.weight": stored("/lm_head.weight", "vocab", "d_model", optional=True),
}
