"""Made-up token sequences that bring out one behaviour of heads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attn_cli.errors import CheckpointError, UsageError, quote
from attn_cli.tokens import Tokens

if TYPE_CHECKING:
    from attn_cli.model import Model


def repeated(model: Model, n: int, seed: int, *, added: bool = True) -> tuple[Tokens, range]:
    """n random tokens and the same n again, after the special tokens that the tokenizer puts in front; and the second half.

    The usual probe for induction heads (Olsson et al. 2022, arXiv 2209.11895): in the second half, what followed a token
    before can only be known by looking it up. Tokens are drawn evenly from the vocabulary without its special tokens, none
    of them twice, so that there is one earlier copy and no other.
    """
    tokenizer = None if model.given is not None else model.tokenizer
    if tokenizer is None:
        raise CheckpointError(
            f"{quote(model.source)}: no vocabulary to draw tokens from", "name a model with a tokenizer"
        )
    if model.decoder is not None:
        raise UsageError("--repeat is for models of one stack", "give a text instead")
    special = {i for i, t in tokenizer.backend.get_added_tokens_decoder().items() if t.special}
    size = min(tokenizer.vocab_size, model.spec.vocab_size or tokenizer.vocab_size)
    ids = np.array([i for i in range(size) if i not in special])
    if not 2 <= n <= len(ids):
        raise UsageError(f"--repeat {n} is out of range", f"give 2 to {len(ids)}")
    half = np.random.default_rng(seed).choice(ids, n, replace=False).tolist()
    front, back = _sides(tokenizer.encode("a", added=added))
    every = [*front, *half, *half, *back]
    edges = {*range(len(front)), *range(len(every) - len(back), len(every))}
    pieces = tuple(tokenizer.piece(i) for i in every)
    tokens = Tokens(
        text=None,
        ids=tuple(every),
        pieces=pieces,
        texts=pieces,
        spans=(None,) * len(every),
        words=tuple(None if i in edges else i for i in range(len(every))),
        special=tuple("added" if i in edges else None for i in range(len(every))),
        segments=(0,) * len(every),
        unknown=(False,) * len(every),
    )
    model.check(tokens)
    return tokens, range(len(front) + n, len(front) + 2 * n)


def _sides(tokens: Tokens) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The ids that the tokenizer adds before and after a text."""
    plain = [i for i, kind in enumerate(tokens.special) if kind is None]
    return tokens.ids[: plain[0]], tokens.ids[plain[-1] + 1 :]
