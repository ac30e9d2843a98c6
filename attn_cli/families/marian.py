"""Marian: a post-norm encoder-decoder with sinusoidal positions and no norm after the embedding."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.config import ConfigReader
from attn_cli.families import _seq2seq
from attn_cli.spec import ModelSpec

SOURCES = (
    "Junczys-Dowmunt et al. 2018, arXiv 1804.00344",
    "Vaswani et al. 2017, arXiv 1706.03762, section 3",
    "Hugging Face transformers, models/marian",
)
PREFIXES = _seq2seq.PREFIXES
IGNORED = (
    *_seq2seq.IGNORED,
    "encoder.embed_positions.weight",
    "decoder.embed_positions.weight",
)  # the sinusoids, stored
TENSORS = _seq2seq.tensors(position_table=False, embed_norm=False, final_norm=False)


def spec(cfg: ConfigReader) -> ModelSpec:
    """The spec of a Marian config; defaults are those of MarianConfig."""
    cfg.only("normalize_before", False)
    cfg.only("normalize_embedding", False)
    cfg.only("add_final_layer_norm", False)
    cfg.only("static_position_embeddings", True)
    shared = cfg.flag("share_encoder_decoder_embeddings", default=True)
    vocab = cfg.size("vocab_size", default=58101)
    second = cfg.size("decoder_vocab_size", default=vocab)
    if shared and second != vocab:
        cfg.refuse("decoder_vocab_size", second, f"one vocabulary of {vocab} where the stacks share it")
    whole = _seq2seq.read(
        cfg,
        "marian",
        positions="sinusoidal_halves",
        placement="post",
        decoder_start=cfg.token_id("decoder_start_token_id", default=58100),
        vocab=58101,
        pad=58100,
    )
    decoder = whole.decoder
    return whole if decoder is None else replace(whole, decoder=replace(decoder, vocab_size=second))
