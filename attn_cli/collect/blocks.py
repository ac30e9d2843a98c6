"""A long text's matrix small enough to be seen: one cell for each block of neighbouring queries and keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from attn_cli.model.block import Block

Pooling = Literal["mean", "max"]
LEAST = 0.01  # a row that keeps less than this on the chosen keys is not rescaled and does not count


class Blocks:
    """Per head (row blocks, column blocks): the mean or the largest of the weights that each query may look at.

    What it holds does not grow with the text.
    """

    def __init__(
        self,
        queries: Sequence[int],
        keys: Sequence[int],
        size: tuple[int, int],
        pooling: Pooling,
        *,
        rescaled: bool = False,
    ) -> None:
        """`size`: queries and keys of one block; `rescaled`: rows sum to one over the chosen keys."""
        self._queries, self._keys = np.array(queries, dtype=int), np.array(keys, dtype=int)
        self.size, self._pooling, self._rescaled = size, pooling, rescaled
        self.shape = (-(-len(queries) // size[0]), -(-len(keys) // size[1]))
        self._totals: dict[tuple[str, int, int], np.ndarray] = {}
        self._counts: dict[tuple[str, int, int], np.ndarray] = {}

    def add(self, block: Block) -> None:
        """Takes the block's rows and columns that are wanted."""
        rows = _inside(self._queries, block.queries)
        columns = _inside(self._keys, block.keys)
        if not len(rows) or not len(columns):
            return
        attn = _taken(block.attn, rows, self._queries, block.queries, 1)
        attn = _taken(attn, columns, self._keys, block.keys, 2)
        seen = _taken(block.mask, rows, self._queries, block.queries, 0)
        seen = _taken(seen, columns, self._keys, block.keys, 1)
        row_cuts, row_bins = _cuts(rows // self.size[0])
        column_cuts, column_bins = _cuts(columns // self.size[1])
        pool = np.maximum if self._pooling == "max" else np.add
        for i, head in enumerate(block.heads):
            address = (block.kind, block.layer, head)
            if address not in self._totals:
                self._totals[address] = np.zeros(self.shape, np.float64)
                self._counts[address] = np.zeros(self.shape, np.int64)
            weights, counted = attn[i], seen
            if self._rescaled:
                kept = weights.sum(-1, keepdims=True)
                weights, counted = np.where(kept < LEAST, 0, weights / np.maximum(kept, LEAST)), seen & (kept >= LEAST)
            place = np.ix_(row_bins, column_bins)
            found = pool.reduceat(pool.reduceat(weights, column_cuts, axis=1), row_cuts, axis=0)
            self._totals[address][place] = pool(self._totals[address][place], found)
            count = np.add.reduceat(counted, column_cuts, axis=1, dtype=np.int64)
            self._counts[address][place] += np.add.reduceat(count, row_cuts, axis=0)

    def attn(self, address: tuple[str, int, int]) -> np.ndarray:
        """(row blocks, column blocks) of one head; zero where nothing of a block may be seen."""
        total = self._totals[address]
        found = total if self._pooling == "max" else total / np.maximum(self._counts[address], 1)
        return np.asarray(found, np.float32)

    def visible(self, address: tuple[str, int, int]) -> np.ndarray | None:
        """(row blocks, column blocks) bool: whether anything of the block may be seen; None where that is so of all."""
        seen = np.asarray(self._counts[address] > 0)
        return None if seen.all() else seen


def _inside(chosen: np.ndarray, there: range) -> np.ndarray:
    """Places in `chosen`, which rises, of what stands in a block."""
    return np.arange(np.searchsorted(chosen, there.start), np.searchsorted(chosen, there.stop))


def _taken(array: np.ndarray, places: np.ndarray, chosen: np.ndarray, there: range, axis: int) -> np.ndarray:
    """The chosen rows or columns of a block's array; a view where they are neighbours."""
    at = chosen[places] - there.start
    if at[-1] - at[0] + 1 == len(at):
        whole = (slice(None),) * axis
        return np.asarray(array[(*whole, slice(int(at[0]), int(at[-1]) + 1))])
    return np.asarray(array.take(at, axis))


def _cuts(bins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each bin of a rising array begins, and which bins these are."""
    cuts = np.flatnonzero(np.diff(bins, prepend=-1))
    return cuts, bins[cuts]
