"""Gemma 2: four norms a block, capped scores and logits, windows in every other layer."""

from __future__ import annotations

import math
from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import llama
from attn_cli.families._parts import norm, windows
from attn_cli.families.llama import IGNORED, PREFIXES
from attn_cli.spec import ModelSpec, Rope

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("Gemma Team 2024, arXiv 2408.00118, section 2", "Hugging Face transformers, models/gemma2")


def spec(cfg: ConfigReader, family: str = "gemma2", turns: Rope | None = None) -> ModelSpec:
    """The spec of a Gemma 2 config; defaults are those of Gemma2Config."""
    cfg.assume(
        vocab_size=256000, hidden_size=2304, intermediate_size=9216, num_hidden_layers=26, num_attention_heads=8,
        num_key_value_heads=4, head_dim=256, max_position_embeddings=8192, tie_word_embeddings=True,
        query_pre_attn_scalar=256, sliding_window=4096, final_logit_softcapping=30.0, attn_logit_softcapping=50.0,
    )  # fmt: skip
    cfg.only("use_bidirectional_attention", False)
    cfg.ignore("sliding_window_size")  # beside sliding_window in some files; the reference does not read it
    base = llama.spec(cfg, family, turns)
    n, window = base.n_layers, cfg.optional_size("sliding_window")
    return replace(
        base,
        placement="sandwich",
        activation=cfg.activation("hidden_activation", default="gelu_pytorch_tanh"),
        norm_offset=1.0,
        embed_scale=math.sqrt(base.d_model),
        scale=cfg.positive("query_pre_attn_scalar") ** -0.5,
        softcap=cfg.optional_positive("attn_logit_softcapping"),
        logit_softcap=cfg.optional_positive("final_logit_softcapping"),
        windows=windows(cfg, n, window, [i % 2 == 0 for i in range(n)]),
        mlp_bias=False,
    )


TENSORS = {
    **llama.TENSORS,
    **norm("layers.{i}.attn.out_norm", "layers.{i}.post_attention_layernorm"),
    **norm("layers.{i}.mlp.norm", "layers.{i}.pre_feedforward_layernorm"),
    **norm("layers.{i}.mlp.out_norm", "layers.{i}.post_feedforward_layernorm"),
}
