"""StarCoder2: grouped queries, rotary positions and a window, with GPT-2's norms and MLP."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import llama
from attn_cli.families._parts import linear
from attn_cli.families.llama import IGNORED, PREFIXES
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("Lozhkov et al. 2024, arXiv 2402.19173, section 6", "Hugging Face transformers, models/starcoder2")


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a StarCoder2 config; defaults are those of Starcoder2Config."""
    cfg.assume(
        vocab_size=49152, hidden_size=3072, intermediate_size=12288, num_hidden_layers=30, num_attention_heads=24,
        num_key_value_heads=2, hidden_act="gelu_pytorch_tanh", max_position_embeddings=4096, tie_word_embeddings=True,
    )  # fmt: skip
    cfg.only("mlp_type", "default")
    cfg.only("norm_type", "layer_norm")
    cfg.only("scale_attn_weights", True)
    cfg.ignore("activation_function", "attention_softmax_in_fp32", "scale_attention_softmax_in_fp32")
    base, window = llama.spec(cfg, "starcoder2"), cfg.optional_size("sliding_window")
    biased = cfg.flag("use_bias", default=True)
    return replace(
        base,
        norm="layer",
        norm_eps=cfg.number("norm_epsilon", default=1e-5),
        norm_bias=True,
        windows=(window,) * base.n_layers if window else (),
        gated_mlp=False,
        attn_bias=biased,
        output_bias=biased,
        mlp_bias=biased,
    )


TENSORS = {
    **{name: found for name, found in llama.TENSORS.items() if ".mlp.gate" not in name},
    **linear("layers.{i}.mlp.up", "layers.{i}.mlp.c_fc", "d_mlp", "d_model", bias="mlp_bias"),
    **linear("layers.{i}.mlp.down", "layers.{i}.mlp.c_proj", "d_model", "d_mlp", bias="mlp_bias"),
}
