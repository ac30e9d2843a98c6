"""GLM-4: Llama with a fused gate, of whose heads a half turns in neighbouring pairs."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import llama
from attn_cli.families._parts import linear
from attn_cli.families._rope import rope
from attn_cli.families.llama import IGNORED, PREFIXES
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("GLM Team 2024, arXiv 2406.12793, section 2", "Hugging Face transformers, models/glm")


def spec(cfg: ConfigReader, family: str = "glm") -> ModelSpec:
    """The spec of a GLM config; defaults are those of GlmConfig."""
    cfg.assume(
        vocab_size=151552, intermediate_size=13696, num_hidden_layers=40, num_key_value_heads=2, head_dim=128,
        max_position_embeddings=131072, rms_norm_eps=1.5625e-7, attention_bias=True,
    )  # fmt: skip
    turns = rope(cfg, cfg.size("head_dim"), partial=0.5, pairs="interleaved")
    return replace(llama.spec(cfg, family, turns), output_bias=False, mlp_bias=False)


_GATE_UP = ("d_mlp", "d_mlp")
TENSORS = {
    **llama.TENSORS,
    **linear("layers.{i}.mlp.gate", "layers.{i}.mlp.gate_up_proj", "d_mlp", "d_model", split=_GATE_UP, part=0),
    **linear("layers.{i}.mlp.up", "layers.{i}.mlp.gate_up_proj", "d_mlp", "d_model", split=_GATE_UP, part=1),
}
