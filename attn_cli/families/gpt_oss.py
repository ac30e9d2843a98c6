"""gpt-oss: attention sinks, windows in every other layer, experts with a clamped SwiGLU."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import llama
from attn_cli.families._parts import linear, windows
from attn_cli.families._rope import rope
from attn_cli.families.llama import IGNORED, PREFIXES
from attn_cli.spec import Layout, ModelSpec, stored

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("OpenAI 2025, arXiv 2508.10925, section 2", "Hugging Face transformers, models/gpt_oss")

_YARN = {
    "rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False,
    "original_max_position_embeddings": 4096,
}  # fmt: skip


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a gpt-oss config; defaults are those of GptOssConfig."""
    cfg.assume(
        vocab_size=201088, hidden_size=2880, intermediate_size=2880, num_hidden_layers=36, num_attention_heads=64,
        num_key_value_heads=8, head_dim=64, max_position_embeddings=131072, rms_norm_eps=1e-5, rope_theta=150000.0,
        attention_bias=True, sliding_window=128,
    )  # fmt: skip
    cfg.ignore("initial_context_length", "experts_per_token")
    base = llama.spec(cfg, "gpt_oss", rope(cfg, cfg.size("head_dim"), default=_YARN))
    n, window = base.n_layers, cfg.optional_size("sliding_window")
    return replace(
        base,
        windows=windows(cfg, n, window, [i % 2 == 0 for i in range(n)]),
        sinks=True,
        activation="clamped_swiglu",  # whatever hidden_act says
        swiglu_alpha=cfg.positive("swiglu_alpha", default=1.702),
        swiglu_limit=cfg.positive("swiglu_limit", default=7.0),
        n_experts=cfg.size("num_local_experts", "num_experts", default=128),
        n_experts_used=cfg.size("num_experts_per_tok", default=4),
    )


def _stored_as(stem: str, out: str, in_: str) -> tuple[tuple[str, str, tuple[str, ...], Layout], ...]:
    """A matrix and its bias, for all experts in one tensor each."""
    return ("weight", stem, (out, in_), "in_out"), ("bias", f"{stem}_bias", (out,), "vector")


_EXPERTS = "layers.{i}.mlp.experts."
_GATE_UP = ("d_mlp", "d_mlp")
TENSORS = {
    **{name: found for name, found in llama.TENSORS.items() if ".mlp." not in name or ".norm." in name},
    "layers.{i}.attn.sinks": stored("layers.{i}.self_attn.sinks", "heads"),
    **linear("layers.{i}.mlp.router", "layers.{i}.mlp.router", "experts", "d_model", bias="always"),
    **{
        f"layers.{{i}}.experts.{ours}.{what}": stored(
            f"{_EXPERTS}{theirs}", "expert", *shape, layout=layout, split=split, part=part, per=per
        )
        for ours, stem, out, in_, split, part, per in (
            ("gate", "gate_up_proj", "d_mlp", "d_model", _GATE_UP, 0, "d_mlp"),
            ("up", "gate_up_proj", "d_mlp", "d_model", _GATE_UP, 1, "d_mlp"),
            ("down", "down_proj", "d_model", "d_mlp", (), 0, ""),
        )
        for what, theirs, shape, layout in _stored_as(stem, out, in_)
    },
}
