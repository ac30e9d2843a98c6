"""BLOOM: ALiBi, a norm after the embedding, queries, keys and values fused head by head."""

from __future__ import annotations

from attn_cli.config import ConfigReader
from attn_cli.families._parts import fused_qkv, linear, norm
from attn_cli.spec import Alibi, ModelSpec, stored

SOURCES = (
    "BigScience 2022, arXiv 2211.05100, section 3.2",
    "Press et al. 2021 (ALiBi), arXiv 2108.12409",
    "Hugging Face transformers, models/bloom",
)
PREFIXES = ("transformer.", "")
IGNORED = ()


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a BLOOM config; defaults are those of BloomConfig."""
    d_model, n_heads = (
        cfg.size("n_embed", "hidden_size", default=64),
        cfg.size("n_head", "num_attention_heads", default=8),
    )
    cfg.only("apply_residual_connection_post_layernorm", False)
    cfg.ignore(  # of training, and how the same numbers were computed
        "slow_but_exact", "seq_length", "bias_dropout_fusion", "masked_softmax_fusion", "attention_softmax_in_fp32",
        "skip_bias_add", "skip_bias_add_qkv", "offset_alibi", "unk_token_id",
    )  # fmt: skip
    cfg.only("n_inner", 4 * d_model)
    return ModelSpec(
        family="bloom",
        causal=True,
        n_layers=cfg.size("n_layer", "num_hidden_layers", default=2),
        n_heads=n_heads,
        n_kv_heads=n_heads,
        d_model=d_model,
        d_head=cfg.divided("hidden_size", d_model, "n_head", n_heads),
        d_mlp=4 * d_model,
        n_ctx=None,
        vocab_size=cfg.size("vocab_size", default=250880),
        placement="pre",
        norm_eps=cfg.number("layer_norm_epsilon", default=1e-5),
        embed_norm=True,
        final_norm=True,
        positions="alibi",
        alibi=Alibi(),
        activation="gelu_tanh",
        tied_output=cfg.flag("tie_word_embeddings", default=True),
        logits=True,
    )


_LAYER = "h.{i}."
TENSORS = {
    "embed.token": stored("word_embeddings.weight", "vocab", "d_model", layout="rows"),
    **norm("embed.norm", "word_embeddings_layernorm"),
    **norm("layers.{i}.attn.norm", f"{_LAYER}input_layernorm"),
    **fused_qkv(f"{_LAYER}self_attention.query_key_value", bias="always", per="heads"),
    **linear("layers.{i}.attn.o", f"{_LAYER}self_attention.dense", "d_model", "q", bias="always"),
    **norm("layers.{i}.mlp.norm", f"{_LAYER}post_attention_layernorm"),
    **linear("layers.{i}.mlp.up", f"{_LAYER}mlp.dense_h_to_4h", "d_mlp", "d_model", bias="always"),
    **linear("layers.{i}.mlp.down", f"{_LAYER}mlp.dense_4h_to_h", "d_model", "d_mlp", bias="always"),
    **norm("final_norm", "ln_f"),
    "head.weight": stored("/lm_head.weight", "vocab", "d_model", optional=True),
}
