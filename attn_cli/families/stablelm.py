"""StableLM: Llama with LayerNorm, of whose heads a part turns."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import llama
from attn_cli.families.llama import IGNORED, PREFIXES
from attn_cli.spec import ModelSpec, stored

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("Bellagente et al. 2024, arXiv 2402.17834, section 2", "Hugging Face transformers, models/stablelm")


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a StableLM config; defaults are those of StableLmConfig."""
    cfg.assume(
        vocab_size=50304, hidden_size=2560, intermediate_size=6912, num_key_value_heads=32, max_position_embeddings=4096,
    )  # fmt: skip
    parallel = cfg.flag("use_parallel_residual", default=False)
    return replace(
        llama.spec(cfg, "stablelm", partial=0.25),
        placement="parallel" if parallel else "pre",
        norm="layer",
        norm_eps=cfg.number("layer_norm_eps", default=1e-5),
        norm_bias=True,
        mlp_norm=not parallel,
        qk_norm="per_head" if cfg.flag("qk_layernorm", default=False) else "none",
        attn_bias=cfg.flag("use_qkv_bias", default=False),
        output_bias=False,
        mlp_bias=False,
    )


TENSORS = {
    **{name: found for name, found in llama.TENSORS.items() if not name.endswith(("q_norm.bias", "k_norm.bias"))},
    "layers.{i}.attn.q_norm.weight": stored(
        "layers.{i}.self_attn.q_layernorm.norms.{n}.weight", "heads", "d_head", when="qk_norm=per_head"
    ),
    "layers.{i}.attn.k_norm.weight": stored(
        "layers.{i}.self_attn.k_layernorm.norms.{n}.weight", "kv_heads", "d_head", when="qk_norm=per_head"
    ),
}
