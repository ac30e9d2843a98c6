"""PLBart: BART for programs; the decoder begins with the target's language."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import bart
from attn_cli.families.bart import IGNORED, PREFIXES, TENSORS
from attn_cli.spec import ModelSpec

__all__ = ["IGNORED", "PREFIXES", "SOURCES", "TENSORS", "spec"]

SOURCES = ("Ahmad et al. 2021, arXiv 2103.06333, section 2.1", "Hugging Face transformers, models/plbart")


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a PLBart config; defaults are those of PLBartConfig."""
    cfg.assume(
        vocab_size=50005, d_model=768, encoder_layers=6, decoder_layers=6, encoder_ffn_dim=3072, decoder_ffn_dim=3072,
        encoder_attention_heads=12, decoder_attention_heads=12, scale_embedding=True,
    )  # fmt: skip
    return replace(bart.spec(cfg), family="plbart", decoder_start=None)
