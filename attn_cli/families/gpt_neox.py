"""GPT-NeoX and Pythia: parallel block with two norms, part of each head turns, queries, keys and values fused head by head."""

from __future__ import annotations

from attn_cli.config import ConfigReader
from attn_cli.families._parts import fused_qkv, linear, norm
from attn_cli.families._rope import rope
from attn_cli.spec import ModelSpec, stored

SOURCES = (
    "Black et al. 2022, arXiv 2204.06745, section 2.1",
    "Biderman et al. 2023 (Pythia), arXiv 2304.01373",
    "Hugging Face transformers, models/gpt_neox",
)
PREFIXES = ("gpt_neox.", "")
IGNORED = (  # buffers of early files
    "layers.*.attention.bias",
    "layers.*.attention.masked_bias",
    "layers.*.attention.rotary_emb.inv_freq",
    "rotary_emb.inv_freq",
)


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a GPT-NeoX config; defaults are those of GPTNeoXConfig."""
    d_model, n_heads = cfg.size("hidden_size", default=6144), cfg.size("num_attention_heads", default=64)
    d_head = cfg.divided("hidden_size", d_model, "num_attention_heads", n_heads)
    biased = cfg.flag("attention_bias", default=True)
    return ModelSpec(
        family="gpt_neox",
        causal=True,
        n_layers=cfg.size("num_hidden_layers", default=44),
        n_heads=n_heads,
        n_kv_heads=n_heads,
        d_model=d_model,
        d_head=d_head,
        d_mlp=cfg.size("intermediate_size", default=24576),
        n_ctx=cfg.size("max_position_embeddings", default=2048),
        n_ctx_hard=False,
        vocab_size=cfg.size("vocab_size", default=50432),
        placement="parallel" if cfg.flag("use_parallel_residual", default=True) else "pre",
        norm_eps=cfg.number("layer_norm_eps", default=1e-5),
        final_norm=True,
        positions="rotary",
        rope=rope(cfg, d_head, partial=0.25),
        activation=cfg.activation("hidden_act", default="gelu"),
        attn_bias=biased,
        output_bias=biased,
        tied_output=cfg.flag("tie_word_embeddings", default=False),
        logits=True,
    )


_LAYER = "layers.{i}."
TENSORS = {
    "embed.token": stored("embed_in.weight", "vocab", "d_model", layout="rows"),
    **norm("layers.{i}.attn.norm", f"{_LAYER}input_layernorm"),
    **fused_qkv(f"{_LAYER}attention.query_key_value", bias="attn_bias", per="heads"),
    **linear("layers.{i}.attn.o", f"{_LAYER}attention.dense", "d_model", "q", bias="output_bias"),
    **norm("layers.{i}.mlp.norm", f"{_LAYER}post_attention_layernorm"),
    **linear("layers.{i}.mlp.up", f"{_LAYER}mlp.dense_h_to_4h", "d_mlp", "d_model", bias="always"),
    **linear("layers.{i}.mlp.down", f"{_LAYER}mlp.dense_4h_to_h", "d_model", "d_mlp", bias="always"),
    **norm("final_norm", "final_layer_norm"),
    "head.weight": stored(("/embed_out.weight", "/lm_head.weight"), "vocab", "d_model", optional=True),
}
