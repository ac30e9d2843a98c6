"""Qwen3 with experts in place of each MLP."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import llama
from attn_cli.families._parts import expert, linear
from attn_cli.families.llama import IGNORED, PREFIXES
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("Yang et al. 2025, arXiv 2505.09388, section 2", "Hugging Face transformers, models/qwen3_moe")


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a Qwen3-MoE config; defaults are those of Qwen3MoeConfig."""
    cfg.assume(
        vocab_size=151936, hidden_size=2048, intermediate_size=6144, num_hidden_layers=24, num_key_value_heads=4,
        max_position_embeddings=32768, sliding_window=4096,
    )  # fmt: skip
    base, window = llama.spec(cfg, "qwen3_moe"), cfg.optional_size("sliding_window")
    cfg.only("decoder_sparse_step", 1)
    cfg.only("mlp_only_layers", [])
    cfg.ignore("max_window_layers")
    sliding = cfg.flag("use_sliding_window", default=False) and window is not None
    return replace(
        base,
        d_mlp=cfg.size("moe_intermediate_size", default=768),
        windows=(window,) * base.n_layers if sliding else (),
        qk_norm="head",
        mlp_bias=False,
        n_experts=cfg.size("num_experts", "num_local_experts", default=128),
        n_experts_used=cfg.size("num_experts_per_tok", default=8),
        expert_weights="chosen" if cfg.flag("norm_topk_prob", default=False) else "all",
    )


_MOE = "layers.{i}.mlp."
TENSORS = {
    **{name: found for name, found in llama.TENSORS.items() if ".mlp." not in name or ".norm." in name},
    **linear("layers.{i}.mlp.router", f"{_MOE}gate", "experts", "d_model"),
    **expert("gate", f"{_MOE}experts.{{n}}.gate_proj", "d_mlp", "d_model"),
    **expert("up", f"{_MOE}experts.{{n}}.up_proj", "d_mlp", "d_model"),
    **expert("down", f"{_MOE}experts.{{n}}.down_proj", "d_model", "d_mlp"),
}
