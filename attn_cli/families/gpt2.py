"""GPT-2: pre-norm decoder with learned positions; matrices are stored (in, out), q, k and v in one."""

from __future__ import annotations

from attn_cli.config import ConfigReader
from attn_cli.families._parts import fused_qkv, linear, norm
from attn_cli.spec import ModelSpec, stored

SOURCES = ("Radford et al. 2019, Language Models are Unsupervised Multitask Learners, section 2.3",)
PREFIXES = ("transformer.", "")
IGNORED = ("h.*.attn.bias", "h.*.attn.masked_bias")  # mask buffers of early files, no parameters


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a GPT-2 config; defaults are those of GPT2Config."""
    cfg.only("add_cross_attention", False)
    d_model, n_heads = cfg.size("n_embd", default=768), cfg.size("n_head", default=12)
    scaled = cfg.flag("scale_attn_weights", default=True)
    n_ctx = cfg.size("n_positions", default=1024)
    return ModelSpec(
        family="gpt2",
        causal=True,
        n_layers=cfg.size("n_layer", default=12),
        n_heads=n_heads,
        n_kv_heads=n_heads,
        d_model=d_model,
        d_head=cfg.divided("n_embd", d_model, "n_head", n_heads),
        d_mlp=cfg.size("n_inner", default=4 * d_model),
        n_ctx=n_ctx,
        vocab_size=cfg.size("vocab_size", default=50257),
        placement="pre",
        norm_eps=cfg.number("layer_norm_epsilon", default=1e-5),
        final_norm=True,
        positions="learned",
        scale=None if scaled else 1.0,
        inverse_layer_scale=cfg.flag("scale_attn_by_inverse_layer_idx", default=False),
        activation=cfg.activation("activation_function", default="gelu_new"),
        logits=True,
        tied_output=cfg.flag("tie_word_embeddings", default=True),
    )


_LAYER = "h.{i}."
TENSORS = {
    "embed.token": stored("wte.weight", "vocab", "d_model", layout="rows"),
    "embed.position": stored("wpe.weight", "n_ctx", "d_model", layout="rows"),
    **norm("layers.{i}.attn.norm", f"{_LAYER}ln_1"),
    **fused_qkv(f"{_LAYER}attn.c_attn", bias="always", layout="in_out"),
    **linear("layers.{i}.attn.o", f"{_LAYER}attn.c_proj", "d_model", "q", bias="always", layout="in_out"),
    **norm("layers.{i}.mlp.norm", f"{_LAYER}ln_2"),
    **linear("layers.{i}.mlp.up", f"{_LAYER}mlp.c_fc", "d_mlp", "d_model", bias="always", layout="in_out"),
    **linear("layers.{i}.mlp.down", f"{_LAYER}mlp.c_proj", "d_model", "d_mlp", bias="always", layout="in_out"),
    **norm("final_norm", "ln_f"),
    "head.weight": stored("/lm_head.weight", "vocab", "d_model", optional=True),
}
