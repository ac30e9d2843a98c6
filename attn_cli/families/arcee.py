"""Arcee (AFM): Llama with a squared ReLU and no gate."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import llama
from attn_cli.families.llama import IGNORED, PREFIXES
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("Arcee AI 2025, AFM-4.5B", "Hugging Face transformers, models/arcee")


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of an Arcee config; defaults are those of ArceeConfig."""
    cfg.assume(
        hidden_size=2560, intermediate_size=18432, hidden_act="relu2", max_position_embeddings=4096, rms_norm_eps=1e-5
    )
    return replace(llama.spec(cfg, "arcee"), gated_mlp=False)


TENSORS = {name: found for name, found in llama.TENSORS.items() if ".mlp.gate" not in name}
