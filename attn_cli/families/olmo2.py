"""OLMo 2: Llama with its norms after attention and MLP, and a norm of all queries, and of all keys, at once."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import llama
from attn_cli.families._parts import norm
from attn_cli.families.llama import IGNORED, PREFIXES
from attn_cli.spec import ModelSpec, Rope

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("OLMo Team 2024, arXiv 2501.00656, section 2", "Hugging Face transformers, models/olmo2")


def spec(cfg: ConfigReader, family: str = "olmo2", turns: Rope | None = None) -> ModelSpec:
    """The spec of an OLMo 2 config; defaults are those of Olmo2Config."""
    cfg.assume(vocab_size=50304, rms_norm_eps=1e-5)
    return replace(llama.spec(cfg, family, turns), placement="output", qk_norm="whole", mlp_bias=False)


_REPLACED = ("layers.{i}.attn.norm.", "layers.{i}.mlp.norm.")
TENSORS = {
    **{name: found for name, found in llama.TENSORS.items() if not name.startswith(_REPLACED)},
    **norm("layers.{i}.attn.q_norm", "layers.{i}.self_attn.q_norm", "q"),
    **norm("layers.{i}.attn.k_norm", "layers.{i}.self_attn.k_norm", "kv"),
    **norm("layers.{i}.attn.out_norm", "layers.{i}.post_attention_layernorm"),
    **norm("layers.{i}.mlp.out_norm", "layers.{i}.post_feedforward_layernorm"),
}
