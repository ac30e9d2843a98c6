"""Blocks of hand-made attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NoReturn

import numpy as np

from attn_cli.model.block import Block
from attn_cli.tokens import Tokens


def tokens(texts: Sequence[str]) -> Tokens:
    """Tokens of which those in square brackets are special; equal texts have equal ids."""
    names = list(dict.fromkeys(texts))
    special: list[Literal["added", "typed"] | None] = ["added" if t[0] == "[" else None for t in texts]
    n = len(texts)
    return Tokens(
        text=" ".join(texts), ids=tuple(names.index(t) for t in texts), pieces=tuple(texts), texts=tuple(texts),
        spans=(None,) * n, words=tuple(range(n)), special=tuple(special), segments=(0,) * n, unknown=(False,) * n,
    )  # fmt: skip


def nothing(*_: Any) -> NoReturn:
    raise AssertionError("nobody asked for this")


def block(
    attn: np.ndarray,
    texts: Sequence[str] | None = None,
    *,
    causal: bool = False,
    rows: range | None = None,
    of: Tokens | None = None,
    layer: int = 0,
    value_norm: np.ndarray | None = None,
) -> Block:
    """A block of (heads, queries, keys); with `rows` only those queries of it."""
    n = attn.shape[2]
    made = of or tokens(texts or [f"t{i}" for i in range(n)])
    rows = range(n) if rows is None else rows
    hidden = np.arange(n)[None, :] > np.arange(n)[rows.start : rows.stop, None] if causal else None
    part = attn[:, rows.start : rows.stop].copy()
    part.flags.writeable = False
    return Block(
        layer=layer,
        heads=tuple(range(len(attn))),
        queries=rows,
        keys=range(n),
        query_tokens=made,
        key_tokens=made,
        attn=part,
        _mask=lambda: hidden,
        _value_norm=nothing if value_norm is None else lambda: value_norm,
        _trace=nothing,
    )


def random_attn(seed: int, heads: int, n: int, causal: bool = False) -> np.ndarray:
    """(heads, n, n) rows that sum to one."""
    scores = np.random.default_rng(seed).normal(size=(heads, n, n)) * 2
    if causal:
        scores = np.where(np.tril(np.ones((n, n), bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(weights / weights.sum(-1, keepdims=True))
