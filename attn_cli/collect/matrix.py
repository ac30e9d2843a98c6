"""The weights themselves, for the rows and columns asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from attn_cli.model.block import Block


class Matrix:
    """Gathers (queries, keys) per head, NaN nowhere: columns that a slice does not compute are zero by the mask."""

    def __init__(self, queries: Sequence[int], keys: Sequence[int]) -> None:
        self.keys = np.array(keys, dtype=int)
        self.n_queries = len(queries)
        self._row = {q: i for i, q in enumerate(queries)}
        self.attn: dict[tuple[str, int, int], np.ndarray] = {}
        self._masks: dict[tuple[str, int], np.ndarray] = {}

    def add(self, block: Block) -> None:
        """Takes the block's rows that are wanted."""
        at = [(i, self._row[q]) for i, q in enumerate(block.queries) if q in self._row]
        if not at:
            return
        source, rows = np.array([i for i, _ in at]), np.array([r for _, r in at])
        inside = (self.keys >= block.keys.start) & (self.keys < block.keys.stop)
        columns, take = np.flatnonzero(inside), self.keys[inside] - block.keys.start
        for i, head in enumerate(block.heads):
            out = self.attn.setdefault(
                (block.kind, block.layer, head), np.zeros((self.n_queries, len(self.keys)), block.attn.dtype)
            )
            out[np.ix_(rows, columns)] = block.attn[i][np.ix_(source, take)]
        mask = self._masks.setdefault((block.kind, block.layer), np.zeros((self.n_queries, len(self.keys)), bool))
        mask[np.ix_(rows, columns)] = block.mask[np.ix_(source, take)]

    def mask(self, kind: str, layer: int) -> np.ndarray | None:
        """(queries, keys) bool: what the queries may see; None where that is everything."""
        mask = self._masks[kind, layer]
        return None if mask.all() else mask
