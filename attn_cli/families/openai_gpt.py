"""GPT: GPT-2's matrices in a post-norm decoder."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import gpt2
from attn_cli.families.gpt2 import IGNORED, PREFIXES
from attn_cli.spec import ModelSpec, stored

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = (
    "Radford et al. 2018, Improving Language Understanding by Generative Pre-Training, section 3.1",
    "Hugging Face transformers, models/openai",
)


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a GPT config; defaults are those of OpenAIGPTConfig."""
    cfg.assume(vocab_size=40478, n_positions=512)
    cfg.only("predict_special_tokens", True)
    cfg.ignore("n_special")
    activation = cfg.activation("afn", default="gelu")
    return replace(
        gpt2.spec(cfg),
        family="openai_gpt",
        placement="post",
        final_norm=False,
        activation="gelu_tanh" if activation == "gelu_erf" else activation,  # its gelu is the tanh approximation
    )


TENSORS = {
    **{name: found for name, found in gpt2.TENSORS.items() if not name.startswith("final_norm")},
    "embed.token": stored("tokens_embed.weight", "vocab", "d_model", layout="rows"),
    "embed.position": stored("positions_embed.weight", "n_ctx", "d_model", layout="rows"),
}
