"""GPT-2: pre-norm decoder with learned positions; matrices are stored (in, out), q, k and v in one."""

from __future__ import annotations

from attn_cli.spec import ConfigReader, ModelSpec, Stored, stored

SOURCES = ("Radford et al. 2019, Language Models are Unsupervised Multitask Learners, section 2.3",)
PREFIXES = ("transformer.", "")
IGNORED = ("h.*.attn.bias", "h.*.attn.masked_bias")  # mask buffers of early files, no parameters


def _norm(path: str, canonical: str) -> dict[str, Stored]:
    return {f"{canonical}.{what}": stored(f"{path}.{what}", "d_model") for what in ("weight", "bias")}


def _conv1d(path: str, canonical: str, out: str, in_: str) -> dict[str, Stored]:
    return {
        f"{canonical}.weight": stored(f"{path}.weight", out, in_, layout="in_out"),
        f"{canonical}.bias": stored(f"{path}.bias", out),
    }


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


_QKV = ("q", "kv", "kv")

TENSORS = {
    "embed.token": stored("wte.weight", "vocab", "d_model", layout="rows"),
    "embed.position": stored("wpe.weight", "n_ctx", "d_model", layout="rows"),
    **_norm("h.{i}.ln_1", "layers.{i}.attn.norm"),
    **{
        f"layers.{{i}}.attn.{name}.{what}": stored(
            f"h.{{i}}.attn.c_attn.{what}", *shape, layout=layout, split=_QKV, part=part
        )
        for part, (name, size) in enumerate(zip("qkv", _QKV, strict=True))
        for what, shape, layout in (("weight", (size, "d_model"), "in_out"), ("bias", (size,), "vector"))
    },
    **_conv1d("h.{i}.attn.c_proj", "layers.{i}.attn.o", "d_model", "q"),
    **_norm("h.{i}.ln_2", "layers.{i}.mlp.norm"),
    **_conv1d("h.{i}.mlp.c_fc", "layers.{i}.mlp.up", "d_mlp", "d_model"),
    **_conv1d("h.{i}.mlp.c_proj", "layers.{i}.mlp.down", "d_model", "d_mlp"),
    **_norm("ln_f", "final_norm"),
    "head.weight": stored("/lm_head.weight", "vocab", "d_model", optional=True),
}
