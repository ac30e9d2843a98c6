"""The mean of each metric over queries, per head, with the number of queries it applied to and its null baseline."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from attn_cli.model.block import Block

Address = tuple[str, int, int]  # kind, layer, head


@dataclass(frozen=True)
class Score:
    """One metric of one head: NaN where it applied to no query."""

    mean: float
    baseline: float  # the mean that equal weights under the same mask would have, over the same queries
    queries: int  # how many queries it applied to

    @property
    def excess(self) -> float:
        """How far the score stands above its baseline; NaN where it did not apply."""
        return self.mean - self.baseline


class Mean:
    """Sums over all blocks of all texts it is given; what it holds does not grow with them."""

    def __init__(self, metrics: Mapping[str, ModuleType], queries: Collection[int] | None = None) -> None:
        """Only the rows of `queries`, where some are given."""
        self._metrics = metrics
        self._queries = None if queries is None else frozenset(queries)
        self._sums: dict[tuple[str, int, str], np.ndarray] = {}  # kind, layer, metric -> (3, heads)
        self._heads: dict[tuple[str, int], tuple[int, ...]] = {}

    def add(self, block: Block) -> None:
        """Takes a block."""
        rows = [i for i, q in enumerate(block.queries) if self._queries is None or q in self._queries]
        if not rows:
            return
        self._heads[block.kind, block.layer] = block.heads
        even = block.null()
        for name, metric in self._metrics.items():
            scores = metric.score(block)[:, rows].astype(np.float64)
            applies = ~np.isnan(scores)
            null = np.where(applies, metric.score(even)[0, rows], 0.0)
            part = np.stack([np.where(applies, scores, 0.0).sum(-1), null.sum(-1), applies.sum(-1)])
            key = (block.kind, block.layer, name)
            self._sums[key] = self._sums[key] + part if key in self._sums else part

    def scores(self) -> dict[Address, dict[str, Score]]:
        """Per head the score of each metric, heads in the order of the stream."""
        found: dict[Address, dict[str, Score]] = {}
        for (kind, layer), heads in self._heads.items():
            for i, head in enumerate(heads):
                found[kind, layer, head] = {
                    name: _score(*(float(v) for v in self._sums[kind, layer, name][:, i])) for name in self._metrics
                }
        return found


def _score(total: float, null: float, count: float) -> Score:
    if not count:
        return Score(float("nan"), float("nan"), 0)
    return Score(total / count, null / count, int(count))
