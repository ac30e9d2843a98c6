"""Mixtral: Mistral with experts in place of each MLP."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import llama
from attn_cli.families._parts import expert, linear
from attn_cli.families.llama import IGNORED, PREFIXES
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("Jiang et al. 2024, arXiv 2401.04088, section 2", "Hugging Face transformers, models/mixtral")


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a Mixtral config; defaults are those of MixtralConfig."""
    cfg.assume(
        intermediate_size=14336,
        num_key_value_heads=8,
        max_position_embeddings=131072,
        rms_norm_eps=1e-5,
        rope_theta=1e6,
    )
    base, window = llama.spec(cfg, "mixtral"), cfg.optional_size("sliding_window")
    return replace(
        base,
        windows=(window,) * base.n_layers if window else (),
        n_experts=cfg.size("num_local_experts", "num_experts", default=8),
        n_experts_used=cfg.size("num_experts_per_tok", default=2),
    )


_MOE = "layers.{i}.block_sparse_moe."
TENSORS = {
    **{name: found for name, found in llama.TENSORS.items() if ".mlp." not in name or ".norm." in name},
    **linear("layers.{i}.mlp.router", f"{_MOE}gate", "experts", "d_model"),
    **expert("gate", f"{_MOE}experts.{{n}}.w1", "d_mlp", "d_model"),
    **expert("up", f"{_MOE}experts.{{n}}.w3", "d_mlp", "d_model"),
    **expert("down", f"{_MOE}experts.{{n}}.w2", "d_model", "d_mlp"),
}
