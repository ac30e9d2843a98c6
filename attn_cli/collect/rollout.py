"""Attention rollout: how much of each token's input is left in each position after all layers up to one.

Abnar and Zuidema 2020, arXiv 2005.00928, section 3: per layer the mean over heads and the residual stream count half each,
A = (mean + I) / 2, and the rollout of a layer is A times the rollout of the layer before it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from attn_cli.errors import TextError
from attn_cli.model.block import Block
from attn_cli.model.folds import FOLDED, nothing_behind

MOST_TOKENS = 8192  # two n x n matrices are held


@dataclass(frozen=True)
class Layer:
    """One whole layer: a block to take labels from, and the graph's edges from each query down to each key."""

    block: Block
    edges: np.ndarray  # (queries, keys) float64, rows sum to one
    seen: np.ndarray  # (queries, keys) bool: edges that the mask and the residual stream leave


def layers(blocks: Iterable[Block]) -> Iterator[Layer]:
    """The mean over the heads of each layer with the residual stream, once all its slices have come; not cross-attention."""
    attn, seen = np.empty((0, 0)), np.empty((0, 0), bool)
    for block in blocks:
        if block.query_tokens is not block.key_tokens:
            continue
        n = len(block.query_tokens)
        if n > MOST_TOKENS:
            raise TextError(f"{n} tokens are too many for this measure", f"shorten the text to {MOST_TOKENS}")
        if block.queries.start == 0:
            attn, seen = np.zeros((n, n)), np.eye(n, dtype=bool)
        rows, columns = slice(block.queries.start, block.queries.stop), slice(block.keys.start, block.keys.stop)
        attn[rows, columns] = block.attn.mean(0)
        seen[rows, columns] |= block.mask
        if block.queries.stop == n:
            edges = attn + np.eye(n)
            edges /= edges.sum(-1, keepdims=True)  # 2, or less where the model has attention sinks
            yield Layer(block, edges, seen)


def rollout(blocks: Iterable[Block], wanted: Mapping[str, Collection[int]]) -> Iterator[Block]:
    """One block for each of the wanted layers of each kind; the stream must hold every head of every layer below."""
    total: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for layer in layers(blocks):
        kind, edges, seen = layer.block.kind, layer.edges, layer.seen
        if kind in total:
            below, sees = total[kind]
            edges = edges @ below
            seen = seen if seen.all() else (seen.astype(np.float32) @ sees.astype(np.float32)) > 0
        total[kind] = edges, seen
        if layer.block.layer in wanted.get(kind, ()):
            yield folded(layer.block, edges, seen, range(len(edges)))


def folded(block: Block, rows: np.ndarray, seen: np.ndarray, queries: range) -> Block:
    """A block of a whole layer: `rows` and `seen` are (queries, keys)."""
    attn = rows[None].copy()
    attn.flags.writeable = False
    hidden = None if seen.all() else ~seen
    return replace(
        block,
        heads=(FOLDED,),
        queries=queries,
        keys=range(attn.shape[2]),
        attn=attn,
        _mask=lambda: hidden,
        _value_norm=nothing_behind,
        _trace=nothing_behind,
    )
