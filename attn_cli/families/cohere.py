"""Cohere's Command R: one LayerNorm without bias feeds attention and MLP side by side; neighbouring pairs turn."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import llama
from attn_cli.families._rope import rope
from attn_cli.families.llama import IGNORED, PREFIXES
from attn_cli.spec import ModelSpec, stored

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("Cohere 2024, Command R", "Hugging Face transformers, models/cohere")


def spec(cfg: ConfigReader, family: str = "cohere", theta: float = 500000.0) -> ModelSpec:
    """The spec of a Cohere config; defaults are those of CohereConfig."""
    cfg.assume(
        vocab_size=256000, hidden_size=8192, intermediate_size=22528, num_hidden_layers=40, num_attention_heads=64,
        max_position_embeddings=8192, tie_word_embeddings=True, logit_scale=0.0625,
    )  # fmt: skip
    d_head = cfg.size("hidden_size") // cfg.size("num_attention_heads")
    turns = rope(cfg, cfg.size("head_dim", default=d_head), theta=theta, pairs="interleaved")
    return replace(
        llama.spec(cfg, family, turns),
        placement="parallel",
        norm="layer",
        norm_eps=cfg.number("layer_norm_eps", default=1e-5),
        mlp_norm=False,
        qk_norm="per_head" if cfg.flag("use_qk_norm", default=False) else "none",
        mlp_bias=False,
        logit_scale=cfg.number("logit_scale"),
    )


TENSORS = {
    **llama.TENSORS,
    "layers.{i}.attn.q_norm.weight": stored(
        "layers.{i}.self_attn.q_norm.weight", "heads", "d_head", when="qk_norm=per_head"
    ),
    "layers.{i}.attn.k_norm.weight": stored(
        "layers.{i}.self_attn.k_norm.weight", "kv_heads", "d_head", when="qk_norm=per_head"
    ),
}
