"""Granite 3.0 MoE: Granite with experts in place of each MLP, all of a layer in one tensor."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import granite, llama
from attn_cli.families._parts import linear
from attn_cli.families.llama import IGNORED, PREFIXES
from attn_cli.spec import ModelSpec, stored

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("Granite Team 2024, Granite 3.0 Language Models", "Hugging Face transformers, models/granitemoe")


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a Granite-MoE config; defaults are those of GraniteMoeConfig."""
    return replace(
        granite.spec(cfg),
        family="granitemoe",
        mlp_bias=False,
        n_experts=cfg.size("num_local_experts", default=8),
        n_experts_used=cfg.size("num_experts_per_tok", default=2),
    )


_MOE = "layers.{i}.block_sparse_moe."
_IN = (f"{_MOE}input_linear.weight", f"{_MOE}experts.gate_up_proj")
_OUT = (f"{_MOE}output_linear.weight", f"{_MOE}experts.down_proj")
TENSORS = {
    **{name: found for name, found in llama.TENSORS.items() if ".mlp." not in name or ".norm." in name},
    **linear("layers.{i}.mlp.router", f"{_MOE}router.layer", "experts", "d_model"),
    **{
        f"layers.{{i}}.experts.{ours}.weight": stored(
            _IN, "expert", "d_mlp", "d_model", split=("d_mlp", "d_mlp"), part=part
        )
        for part, ours in enumerate(("gate", "up"))
    },
    "layers.{i}.experts.down.weight": stored(_OUT, "expert", "d_model", "d_mlp"),
}
