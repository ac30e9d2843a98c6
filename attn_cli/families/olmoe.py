"""OLMoE: Llama with experts, and a norm of all queries, and of all keys, at once."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import llama, qwen3_moe
from attn_cli.families._parts import norm
from attn_cli.families.llama import IGNORED, PREFIXES
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("Muennighoff et al. 2024, arXiv 2409.02060, section 2", "Hugging Face transformers, models/olmoe")


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of an OLMoE config; defaults are those of OlmoeConfig."""
    cfg.assume(
        vocab_size=50304, hidden_size=2048, intermediate_size=2048, num_hidden_layers=16, num_attention_heads=16,
        max_position_embeddings=4096, rms_norm_eps=1e-5,
    )  # fmt: skip
    cfg.only("clip_qkv")  # would clamp after the norm
    return replace(
        llama.spec(cfg, "olmoe"),
        qk_norm="whole",
        mlp_bias=False,
        n_experts=cfg.size("num_experts", "num_local_experts", default=64),
        n_experts_used=cfg.size("num_experts_per_tok", default=8),
        expert_weights="chosen" if cfg.flag("norm_topk_prob", default=False) else "all",
    )


TENSORS = {
    **qwen3_moe.TENSORS,
    **norm("layers.{i}.attn.q_norm", "layers.{i}.self_attn.q_norm", "q"),
    **norm("layers.{i}.attn.k_norm", "layers.{i}.self_attn.k_norm", "kv"),
}
