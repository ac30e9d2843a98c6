"""Nemotron-4: Llama with LayerNorm of gain 1 + weight, half of each head turned, a squared ReLU and no gate."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import llama
from attn_cli.families.llama import IGNORED, PREFIXES
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("Parmar et al. 2024, arXiv 2402.16819, section 2", "Hugging Face transformers, models/nemotron")


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a Nemotron config; defaults are those of NemotronConfig."""
    cfg.assume(
        vocab_size=256000, hidden_size=6144, intermediate_size=24576, num_attention_heads=48, hidden_act="relu2",
        max_position_embeddings=4096,
    )  # fmt: skip
    return replace(
        llama.spec(cfg, "nemotron", partial=0.5),
        norm="layer",
        norm_eps=cfg.number("norm_eps", default=1e-5),
        norm_offset=1.0,
        norm_bias=True,
        gated_mlp=False,
    )


TENSORS = {name: found for name, found in llama.TENSORS.items() if ".mlp.gate" not in name}
