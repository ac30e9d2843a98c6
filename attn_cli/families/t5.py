"""T5, its version 1.1 (Flan-T5) and mT5: a pre-norm encoder-decoder with RMSNorm, no biases, and relative positions."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.errors import UnsupportedError
from attn_cli.spec import ModelSpec, Relative, Stored, stored

SOURCES = (
    "Raffel et al. 2020, arXiv 1910.10683, section 2.1",
    "Shazeer 2020 (gated MLP), arXiv 2002.05202",
    "Hugging Face transformers, models/t5",
)
PREFIXES = ("", "transformer.")
IGNORED = (
    "encoder.embed_tokens.weight",
    "decoder.embed_tokens.weight",
    "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",  # of early files; never used
)


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a T5 config; defaults are those of T5Config."""
    cfg.only("is_decoder", False)
    cfg.ignore("dropout_rate", "n_positions", "output_past", "dense_act_fn", "is_gated_act")
    saved_as = " ".join(cfg.words("architectures"))
    encoder_only = "EncoderModel" in saved_as or not cfg.flag("is_encoder_decoder", default=True)
    gated, activation = _mlp(cfg)
    n_heads, n_layers = cfg.size("num_heads", "num_attention_heads", default=8), cfg.size("num_layers", default=6)
    d_model = cfg.size("d_model", "hidden_size", default=512)
    # false marks version 1.1, which does not scale before the head
    tied = cfg.flag("tie_word_embeddings", default=True)
    scaled = cfg.flag("scale_decoder_outputs", default=tied)
    buckets = cfg.size("relative_attention_num_buckets", default=32)
    distance = cfg.size("relative_attention_max_distance", default=128)
    cfg.above("relative_attention_num_buckets", buckets, 3)
    cfg.above("relative_attention_max_distance", distance, buckets // 2)
    encoder = ModelSpec(
        family="t5",
        causal=False,
        n_layers=n_layers,
        n_heads=n_heads,
        n_kv_heads=n_heads,
        d_model=d_model,
        d_head=cfg.size("d_kv", "head_dim", default=64),
        d_mlp=cfg.size("d_ff", default=2048),
        n_ctx=None,
        vocab_size=cfg.size("vocab_size", default=32128),
        placement="pre",
        norm="rms",
        norm_eps=cfg.number("layer_norm_epsilon", default=1e-6),
        final_norm=True,
        positions="none",
        relative=Relative(buckets=buckets, max_distance=distance),
        scale=1.0,
        activation=cfg.activation_named("feed_forward_proj", activation),
        gated_mlp=gated,
        decoder_start=cfg.token_id("decoder_start_token_id", "pad_token_id", default=0),
    )
    decoder = replace(
        encoder,
        causal=True,
        n_layers=cfg.size("num_decoder_layers", default=n_layers),
        cross=True,
        logits=True,
        tied_output=tied,
        logit_scale=d_model**-0.5 if scaled else 1.0,
    )
    return encoder if encoder_only else replace(encoder, decoder=decoder)


def _mlp(cfg: ConfigReader) -> tuple[bool, str]:
    """Whether the MLP is gated, and its activation: `relu`, `gated-gelu`, `gated-silu`."""
    words = cfg.word("feed_forward_proj", default="relu").split("-")
    if len(words) > 2 or (len(words) == 2 and words[0] != "gated"):
        raise UnsupportedError(
            f"{cfg.where}: feed_forward_proj {'-'.join(words)} is not supported", "for example relu or gated-gelu"
        )
    if words == ["gated", "gelu"]:
        return True, "gelu_new"
    return len(words) == 2, words[-1]


def _stack(ours: str, theirs: str, *, cross: bool) -> dict[str, Stored]:
    first = f"{theirs}block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    rows = {
        f"{ours}embed.token": stored(
            ("shared.weight", f"{theirs}embed_tokens.weight"), "vocab", "d_model", layout="rows"
        ),
        f"{ours}relative.weight": stored(first, "buckets", "heads", layout="rows"),
        f"{ours}final_norm.weight": stored(f"{theirs}final_layer_norm.weight", "d_model"),
    }
    mine, block = f"{ours}layers.{{i}}.", f"{theirs}block.{{i}}.layer."
    for name, part in (("attn", "0.SelfAttention"), ("cross", "1.EncDecAttention"))[: 1 + cross]:
        for letter in "qkv":
            rows[f"{mine}{name}.{letter}.weight"] = stored(f"{block}{part}.{letter}.weight", "q", "d_model")
        rows[f"{mine}{name}.o.weight"] = stored(f"{block}{part}.o.weight", "d_model", "q")
        rows[f"{mine}{name}.norm.weight"] = stored(f"{block}{part[0]}.layer_norm.weight", "d_model")
    last = f"{block}{1 + cross}."
    gate, up = (
        f"{last}DenseReluDense.wi_0.weight",
        (f"{last}DenseReluDense.wi.weight", f"{last}DenseReluDense.wi_1.weight"),
    )
    rows[f"{mine}mlp.gate.weight"] = stored(gate, "d_mlp", "d_model", when="gated_mlp")
    rows[f"{mine}mlp.up.weight"] = stored(up, "d_mlp", "d_model")
    rows[f"{mine}mlp.down.weight"] = stored(f"{last}DenseReluDense.wo.weight", "d_model", "d_mlp")
    rows[f"{mine}mlp.norm.weight"] = stored(f"{last}layer_norm.weight", "d_model")
    return rows


TENSORS = {
    **_stack("", "encoder.", cross=False),
    **_stack("decoder.", "decoder.", cross=True),
    "decoder.head.weight": stored("/lm_head.weight", "vocab", "d_model", optional=True),
}
