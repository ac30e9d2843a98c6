"""GPT-Neo: GPT-2's block with separate, unscaled queries and keys; every other layer sees a window."""

from __future__ import annotations

from attn_cli.config import ConfigReader
from attn_cli.errors import CheckpointError
from attn_cli.families._parts import linear, norm
from attn_cli.spec import ModelSpec, stored

SOURCES = ("Black et al. 2021, GPT-Neo, doi 10.5281/zenodo.5297715", "Hugging Face transformers, models/gpt_neo")
PREFIXES = ("transformer.", "")
IGNORED = ("h.*.attn.attention.bias", "h.*.attn.attention.masked_bias")  # mask buffers of early files


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a GPT-Neo config; defaults are those of GPTNeoConfig."""
    d_model, n_heads = cfg.size("hidden_size", default=2048), cfg.size("num_heads", "num_attention_heads", default=16)
    n_layers = cfg.size("num_layers", "num_hidden_layers", default=24)
    window = cfg.size("window_size", default=256)
    kinds = _kinds(cfg)
    cfg.per_layer("attention_types", kinds, n_layers)
    return ModelSpec(
        family="gpt_neo",
        causal=True,
        n_layers=n_layers,
        n_heads=n_heads,
        n_kv_heads=n_heads,
        d_model=d_model,
        d_head=cfg.divided("hidden_size", d_model, "num_heads", n_heads),
        d_mlp=cfg.size("intermediate_size", default=4 * d_model),
        n_ctx=cfg.size("max_position_embeddings", default=2048),
        vocab_size=cfg.size("vocab_size", default=50257),
        placement="pre",
        norm_eps=cfg.number("layer_norm_epsilon", default=1e-5),
        final_norm=True,
        positions="learned",
        scale=1.0,
        windows=tuple(window if kind == "local" else None for kind in kinds),
        activation=cfg.activation("activation_function", default="gelu_new"),
        attn_bias=False,
        tied_output=cfg.flag("tie_word_embeddings", default=True),
        logits=True,
    )


def _kinds(cfg: ConfigReader) -> tuple[str, ...]:
    """`global` or `local` for each layer: attention_types holds pairs of some kinds and how often they follow each other."""
    given = cfg.listing("attention_types") or [[["global", "local"], 12]]
    try:
        kinds = tuple(kind for some, times in given for _ in range(times) for kind in some)
    except (TypeError, ValueError):
        kinds = ("",)
    if set(kinds) - {"global", "local"}:
        raise CheckpointError(
            f"{cfg.where}: attention_types should hold pairs such as [['global', 'local'], 12]",
            "compare the file with the original checkpoint's",
        )
    cfg.ignore("attention_layers")  # the same, layer by layer, in some files
    return kinds


_LAYER, _ATTN = "h.{i}.", "h.{i}.attn.attention."
TENSORS = {
    "embed.token": stored("wte.weight", "vocab", "d_model", layout="rows"),
    "embed.position": stored("wpe.weight", "n_ctx", "d_model", layout="rows"),
    **norm("layers.{i}.attn.norm", f"{_LAYER}ln_1"),
    **linear("layers.{i}.attn.q", f"{_ATTN}q_proj", "q", "d_model"),
    **linear("layers.{i}.attn.k", f"{_ATTN}k_proj", "kv", "d_model"),
    **linear("layers.{i}.attn.v", f"{_ATTN}v_proj", "kv", "d_model"),
    **linear("layers.{i}.attn.o", f"{_ATTN}out_proj", "d_model", "q", bias="always"),
    **norm("layers.{i}.mlp.norm", f"{_LAYER}ln_2"),
    **linear("layers.{i}.mlp.up", f"{_LAYER}mlp.c_fc", "d_mlp", "d_model", bias="always"),
    **linear("layers.{i}.mlp.down", f"{_LAYER}mlp.c_proj", "d_model", "d_mlp", bias="always"),
    **norm("final_norm", "ln_f"),
    "head.weight": stored("/lm_head.weight", "vocab", "d_model", optional=True),
}
