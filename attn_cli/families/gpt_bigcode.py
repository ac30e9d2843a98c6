"""GPT-BigCode (SantaCoder, StarCoder): GPT-2 with one key head, its matrices stored (out, in)."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import gpt2
from attn_cli.families._parts import fused_qkv, linear
from attn_cli.families.gpt2 import IGNORED, PREFIXES
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = (
    "Li et al. 2023 (StarCoder), arXiv 2305.06161, section 5",
    "Shazeer 2019 (one key head), arXiv 1911.02150",
    "Hugging Face transformers, models/gpt_bigcode",
)


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a GPT-BigCode config; defaults are those of GPTBigCodeConfig."""
    cfg.assume(activation_function="gelu_pytorch_tanh")
    cfg.ignore(  # how the same numbers are computed and cached
        "attention_softmax_in_fp32", "scale_attention_softmax_in_fp32", "runner_max_sequence_length", "pad_key_length",
        "pre_allocate_kv_cache", "inference_runner", "validate_runner_input", "num_key_value_heads",
    )  # fmt: skip
    base = gpt2.spec(cfg)
    one = cfg.flag("multi_query", default=True)
    return replace(base, family="gpt_bigcode", n_kv_heads=1 if one else base.n_heads)


TENSORS = {
    **gpt2.TENSORS,
    **fused_qkv("h.{i}.attn.c_attn", bias="always", per="kv_heads"),
    **linear("layers.{i}.attn.o", "h.{i}.attn.c_proj", "d_model", "q", bias="always"),
    **linear("layers.{i}.mlp.up", "h.{i}.mlp.c_fc", "d_mlp", "d_model", bias="always"),
    **linear("layers.{i}.mlp.down", "h.{i}.mlp.c_proj", "d_model", "d_mlp", bias="always"),
}
