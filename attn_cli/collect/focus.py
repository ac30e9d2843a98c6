"""How focused each head is: the mean normalised entropy of its rows over the keys that are words of the text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from attn_cli.model.ops import entropy

if TYPE_CHECKING:
    from attn_cli.model.block import Block

LEAST = 0.01  # a row with less than this on its words says nothing about them


class Focus:
    """Per head: 0 when every query looks at one word, 1 when it looks at all alike; special tokens are left out.

    A head whose rows leave almost nothing to words counts as unfocused.
    """

    def __init__(self, queries: Sequence[int]) -> None:
        self._queries = frozenset(queries)
        self._sum: dict[tuple[str, int, int], float] = {}
        self._count: dict[tuple[str, int, int], int] = {}

    def add(self, block: Block) -> None:
        """Takes the block's rows that count."""
        special = block.query_tokens.special
        rows = [i for i, q in enumerate(block.queries) if q in self._queries and special[q] is None]
        keys = [k - block.keys.start for k in block.keys if block.key_tokens.special[k] is None]
        if not rows or not keys:
            return
        weights = block.attn[:, rows][:, :, keys]
        held = weights.sum(-1)
        seen = block.mask[rows][:, keys].sum(-1)
        counts = (seen > 1)[None, :] & (held > LEAST)
        bits = entropy(weights / np.maximum(held, LEAST)[..., None]) / np.log2(np.maximum(seen, 2))
        unfocused = (seen > 1)[None, :] & (held <= LEAST)
        for h, head in enumerate(block.heads):
            key = (block.kind, block.layer, head)
            self._sum[key] = self._sum.get(key, 0.0) + float(bits[h][counts[h]].sum() + unfocused[h].sum())
            self._count[key] = self._count.get(key, 0) + int((counts | unfocused)[h].sum())

    def ranked(self) -> list[tuple[tuple[str, int, int], float]]:
        """Heads from the most focused on; equal ones in the order of the model."""
        scores = {k: self._sum[k] / self._count[k] if self._count[k] else 1.0 for k in self._sum}
        return sorted(scores.items(), key=lambda item: (item[1], item[0]))
