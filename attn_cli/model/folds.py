"""Streams of blocks that say something else than the weights of one head: weighted by values, folded over heads or layers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Literal, NoReturn

import numpy as np

from attn_cli.model.block import Block

LEAST = 0.01  # a row with less than this says nothing about its other keys
FOLDED = -1  # stands for the number of a head, or of a layer, in a block that is about several of them
Over = Literal["heads", "layers"]
How = Literal["mean", "max"]


def by_norm(blocks: Iterable[Block]) -> Iterator[Block]:
    """Weights times |v_j W_O|, each row scaled to sum to one (Kobayashi 2020, arXiv 2004.10102, section 3)."""
    for block in blocks:
        attn = block.attn * block.value_norm[:, None, :]
        total = attn.sum(-1, keepdims=True)
        attn /= np.where(total > 0, total, 1)
        attn.flags.writeable = False
        yield replace(block, attn=attn)


def without_special(blocks: Iterable[Block]) -> Iterator[Block]:
    """Blocks in which special tokens neither look nor are looked at, and each row's rest is scaled to sum to one.

    Rows of special tokens, and rows that leave less than 1 % to other tokens, are NaN.
    """
    for block in blocks:
        rows = np.array([block.query_tokens.special[q] is not None for q in block.queries])
        columns = np.array([block.key_tokens.special[k] is not None for k in block.keys])
        attn = np.where(columns, 0, block.attn)
        rest = attn.sum(-1, keepdims=True)
        attn = np.where((rest < LEAST) | rows[:, None], np.nan, attn / np.maximum(rest, LEAST))
        attn.flags.writeable = False
        yield replace(block, attn=attn.astype(block.attn.dtype), _mask=partial(_with_columns, block, columns))


def _with_columns(block: Block, columns: np.ndarray) -> np.ndarray:
    return np.asarray(~block.mask | columns)


def fold(blocks: Iterable[Block], how: How, over: frozenset[Over]) -> Iterator[Block]:
    """The mean or the largest of the weights over heads, over layers, or over both; layers must come with the same heads."""
    folded = _over_heads(blocks, how) if "heads" in over else iter(blocks)
    return _over_layers(folded, how) if "layers" in over else folded


def _over_heads(blocks: Iterable[Block], how: How) -> Iterator[Block]:
    for block in blocks:
        attn = block.attn.mean(0, keepdims=True) if how == "mean" else block.attn.max(0, keepdims=True)
        attn.flags.writeable = False
        yield replace(block, heads=(FOLDED,), attn=attn, _value_norm=nothing_behind, _trace=nothing_behind)


def _over_layers(blocks: Iterable[Block], how: How) -> Iterator[Block]:
    """Holds one matrix per head of each kind until the stream ends, then one block for each kind."""
    held: dict[str, tuple[Block, np.ndarray, np.ndarray, set[int]]] = {}
    for block in blocks:
        n, m = len(block.query_tokens), len(block.key_tokens)
        if block.kind not in held:
            held[block.kind] = (
                block,
                np.zeros((len(block.heads), n, m), block.attn.dtype),
                np.zeros((n, m), bool),
                set(),
            )
        _, total, seen, layers = held[block.kind]
        rows, columns = slice(block.queries.start, block.queries.stop), slice(block.keys.start, block.keys.stop)
        part = total[:, rows, columns]
        if how == "mean":
            part += block.attn
        else:
            np.maximum(part, block.attn, out=part)
        seen[rows, columns] |= block.mask
        layers.add(block.layer)
    for block, total, seen, layers in held.values():
        attn = total / len(layers) if how == "mean" else total
        attn.flags.writeable = False
        yield replace(
            block,
            layer=FOLDED,
            queries=range(total.shape[1]),
            keys=range(total.shape[2]),
            attn=attn,
            _mask=partial(_hidden, seen),
            _value_norm=nothing_behind,
            _trace=nothing_behind,
        )


def _hidden(seen: np.ndarray) -> np.ndarray | None:
    return None if seen.all() else ~seen


def nothing_behind(*_: object) -> NoReturn:
    """For blocks that no single head's queries, keys and values stand behind."""
    raise ValueError("this is no single head's attention: it has no values and no scores")
