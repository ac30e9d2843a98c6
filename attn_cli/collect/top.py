"""The strongest keys of each query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from attn_cli.model.block import Block


class Top:
    """Keeps, per head and wanted query, the k largest weights among the wanted keys that the query may see."""

    def __init__(self, queries: Sequence[int], keys: Sequence[int], k: int) -> None:
        self.keys = np.array(keys, dtype=int)
        self.k = k
        self._row = {q: i for i, q in enumerate(queries)}
        self.found: dict[tuple[str, int, int], dict[int, tuple[tuple[int, float], ...]]] = {}

    def add(self, block: Block) -> None:
        """Takes the block's rows that are wanted: query index -> ((key index, weight), ...), strongest first."""
        rows = [i for i, q in enumerate(block.queries) if q in self._row]
        inside = np.flatnonzero((self.keys >= block.keys.start) & (self.keys < block.keys.stop))
        if not rows or not len(inside):
            return
        take = self.keys[inside] - block.keys.start
        weights = block.attn[:, rows][:, :, take]
        seen = block.mask[rows][:, take]
        ranked = np.where(seen, weights, -1)
        k = min(self.k, len(inside))
        if k < len(inside):
            strongest = np.argpartition(-ranked, k - 1, axis=-1)[..., :k]
            strongest.sort(axis=-1)  # equal weights stay in the order of the text
        else:
            strongest = np.broadcast_to(np.arange(k), (*ranked.shape[:-1], k))
        values = np.take_along_axis(ranked, strongest, -1)
        order = np.argsort(-values, axis=-1, kind="stable")
        strongest, values = np.take_along_axis(strongest, order, -1), np.take_along_axis(values, order, -1)
        for h, head in enumerate(block.heads):
            into = self.found.setdefault((block.kind, block.layer, head), {})
            for r, i in enumerate(rows):
                pairs = zip(inside[strongest[h, r]].tolist(), values[h, r].tolist(), strict=True)
                into[self._row[block.queries[i]]] = tuple((c, w) for c, w in pairs if w >= 0)
