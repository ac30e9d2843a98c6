"""Phi-3: Llama with fused matrices, and LongRoPE in the long versions."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import llama
from attn_cli.families._parts import fused_qkv, linear
from attn_cli.families.llama import IGNORED, PREFIXES
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = (
    "Abdin et al. 2024, arXiv 2404.14219, section 2",
    "Ding et al. 2024 (LongRoPE), arXiv 2402.13753",
    "Hugging Face transformers, models/phi3",
)


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a Phi-3 config; defaults are those of Phi3Config."""
    cfg.assume(
        vocab_size=32064, hidden_size=3072, intermediate_size=8192, max_position_embeddings=4096,
        original_max_position_embeddings=4096, rms_norm_eps=1e-5,
    )  # fmt: skip
    for name in ("full_attn_mod", "interpolate_factor"):
        cfg.only(name, 1)
    cfg.ignore("original_max_position_embeddings")
    base, window = llama.spec(cfg, "phi3", partial=1.0), cfg.optional_size("sliding_window")
    return replace(base, windows=(window,) * base.n_layers if window else ())


_GATE_UP = ("d_mlp", "d_mlp")
TENSORS = {
    **{name: found for name, found in llama.TENSORS.items() if not name.endswith(("q.bias", "k.bias", "v.bias"))},
    **fused_qkv("layers.{i}.self_attn.qkv_proj"),
    **linear("layers.{i}.mlp.gate", "layers.{i}.mlp.gate_up_proj", "d_mlp", "d_model", split=_GATE_UP, part=0),
    **linear("layers.{i}.mlp.up", "layers.{i}.mlp.gate_up_proj", "d_mlp", "d_model", split=_GATE_UP, part=1),
}
