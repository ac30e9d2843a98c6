"""What BART, mBART and Marian share: their configs' keys and their tensors' names."""

from __future__ import annotations

from typing import Any

from attn_cli.config import ConfigReader
from attn_cli.families._parts import linear, norm
from attn_cli.spec import ModelSpec, PositionScheme, Stored, stored

PREFIXES = ("model.", "")
IGNORED = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "encoder.version", "decoder.version")


def read(cfg: ConfigReader, family: str, *, positions: PositionScheme, vocab: int, pad: int, **both: Any) -> ModelSpec:
    """The encoder's spec with the decoder's inside; `both` are further fields of the two stacks."""
    cfg.only("is_encoder_decoder", True)
    cfg.only("is_decoder", False)
    cfg.only("add_cross_attention", True, False)
    cfg.only("add_bias_logits", False)
    cfg.only("pruned_heads", {})
    cfg.ignore(
        "activation_dropout", "classif_dropout", "init_std", "extra_pos_embeddings", "num_hidden_layers", "save_step"
    )
    cfg.ignore(
        "encoder_layerdrop", "decoder_layerdrop", "force_bos_token_to_be_generated", "do_blenderbot_90_layernorm"
    )
    cfg.token_id("pad_token_id", default=pad)
    d_model = cfg.size("d_model", "hidden_size", default=1024)
    shared: dict[str, Any] = {
        "d_model": d_model,
        "n_ctx": cfg.size("max_position_embeddings", default=1024),
        "vocab_size": cfg.size("vocab_size", default=vocab),
        "norm_eps": 1e-5,  # fixed in the reference's code
        "positions": positions,
        "embed_scale": d_model**0.5 if cfg.flag("scale_embedding", default=False) else 1.0,
        "activation": cfg.activation("activation_function", default="gelu"),
        **both,
    }
    encoder, decoder = (_stack(cfg, side, family, d_model, shared) for side in ("encoder", "decoder"))
    return ModelSpec(
        **encoder,
        decoder=ModelSpec(
            **decoder,
            cross=True,
            logits=True,
            head_bias=True,
            tied_output=cfg.flag("tie_word_embeddings", default=True),
        ),
    )


def _stack(cfg: ConfigReader, side: str, family: str, d_model: int, shared: dict[str, Any]) -> dict[str, Any]:
    heads = f"{side}_attention_heads"
    n_heads = cfg.size(heads, *(("num_attention_heads",) if side == "encoder" else ()), default=16)
    return {
        "family": family,
        "causal": side == "decoder",
        "n_layers": cfg.size(f"{side}_layers", default=12),
        "n_heads": n_heads,
        "n_kv_heads": n_heads,
        "d_head": cfg.divided("d_model", d_model, heads, n_heads),
        "d_mlp": cfg.size(f"{side}_ffn_dim", default=4096),
        **shared,
    }


def tensors(*, position_table: bool, embed_norm: bool, final_norm: bool) -> dict[str, Stored]:
    """The names of both stacks."""
    rows: dict[str, Stored] = {}
    for ours, theirs in (("", "encoder."), ("decoder.", "decoder.")):
        rows[f"{ours}embed.token"] = stored(
            ("shared.weight", f"{theirs}embed_tokens.weight"), "vocab", "d_model", layout="rows"
        )
        if position_table:
            rows[f"{ours}embed.position"] = stored(
                f"{theirs}embed_positions.weight", "positions", "d_model", layout="rows"
            )
        if embed_norm:
            rows |= norm(f"{ours}embed.norm", f"{theirs}layernorm_embedding")
        if final_norm:
            rows |= norm(f"{ours}final_norm", f"{theirs}layer_norm")
        rows |= _layers(f"{ours}layers.{{i}}.", f"{theirs}layers.{{i}}.", cross=bool(ours))
    rows["decoder.head.weight"] = stored("/lm_head.weight", "vocab", "d_model", optional=True)
    rows["decoder.head.bias"] = stored("/final_logits_bias", "one", "vocab", layout="rows", optional=True)
    return rows


def _layers(ours: str, theirs: str, *, cross: bool) -> dict[str, Stored]:
    rows: dict[str, Stored] = {}
    for mine, attention in (("attn", "self_attn"), ("cross", "encoder_attn"))[: 1 + cross]:
        for part in "qkv":
            rows |= linear(f"{ours}{mine}.{part}", f"{theirs}{attention}.{part}_proj", "q", "d_model", bias="always")
        rows |= linear(f"{ours}{mine}.o", f"{theirs}{attention}.out_proj", "d_model", "q", bias="always")
        rows |= norm(f"{ours}{mine}.norm", f"{theirs}{attention}_layer_norm")
    rows |= linear(f"{ours}mlp.up", f"{theirs}fc1", "d_mlp", "d_model", bias="always")
    rows |= linear(f"{ours}mlp.down", f"{theirs}fc2", "d_model", "d_mlp", bias="always")
    return rows | norm(f"{ours}mlp.norm", f"{theirs}final_layer_norm")
