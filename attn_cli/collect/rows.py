"""Whole rows of the queries asked for, and what each key receives from everybody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from attn_cli.model.block import Block

Address = tuple[str, int, int]  # kind, layer, head
Places = Mapping[str, Sequence[tuple[int, ...]]]  # per kind: tokens that belong together


class Rows:
    """The mean row of each group of queries, per head: a word of several pieces looks with all of them."""

    def __init__(self, groups: Places) -> None:
        self._groups = groups
        self._rows: dict[tuple[Address, int], np.ndarray] = {}
        self._seen: dict[tuple[str, int, int], np.ndarray] = {}  # kind, layer, group

    def add(self, block: Block) -> None:
        """Takes the rows that are wanted."""
        n = len(block.key_tokens)
        columns = slice(block.keys.start, block.keys.stop)
        for g, group in enumerate(self._groups.get(block.kind, ())):
            at = [q - block.queries.start for q in group if q in block.queries]
            if not at:
                continue
            part = block.attn[:, at].sum(1) / len(group)
            for i, head in enumerate(block.heads):
                row = self._rows.setdefault(((block.kind, block.layer, head), g), np.zeros(n, part.dtype))
                row[columns] += part[i]
            self._seen.setdefault((block.kind, block.layer, g), np.zeros(n, bool))[columns] |= block.mask[at].any(0)

    def found(self) -> list[tuple[Address, int, np.ndarray, np.ndarray]]:
        """(head, group of queries, its row, which keys it may see), in the order of the stream."""
        return [(a, g, row, self._seen[a[0], a[1], g]) for (a, g), row in self._rows.items()]


@dataclass(frozen=True)
class Share:
    """What a group of keys receives from one head."""

    mean: float  # weight on the keys, over the other tokens that may see them
    baseline: float  # the same of equal weights
    queries: int
    strongest: int  # the query that looks most
    weight: float  # and how much


class Received:
    """How much each group of keys is looked at, by all queries but its own tokens."""

    def __init__(self, groups: Places, without: Mapping[str, Sequence[int]] | None = None) -> None:
        """`without` are, per kind, queries that do not count."""
        self._groups = groups
        self._without = {kind: frozenset(q) for kind, q in (without or {}).items()}
        self._found: dict[tuple[Address, int], Share] = {}

    def add(self, block: Block) -> None:
        """Takes a block."""
        own = block.query_tokens is block.key_tokens
        for g, group in enumerate(self._groups.get(block.kind, ())):
            columns = [k - block.keys.start for k in group if k in block.keys]
            leave = self._without.get(block.kind, frozenset()) | (frozenset(group) if own else frozenset())
            rows = [i for i, q in enumerate(block.queries) if q not in leave]
            if not columns or not rows:
                continue
            rows = [i for i in rows if block.mask[i, columns].any()]
            if not rows:
                continue
            weights = block.attn[:, rows][:, :, columns].sum(-1)
            null = float(block.uniform()[rows][:, columns].sum())
            for i, head in enumerate(block.heads):
                best = int(weights[i].argmax())
                new = Share(
                    float(weights[i].sum()), null, len(rows), block.queries[rows[best]], float(weights[i, best])
                )
                key = ((block.kind, block.layer, head), g)
                self._found[key] = _both(self._found[key], new) if key in self._found else new

    def found(self) -> list[tuple[Address, int, Share]]:
        """(head, group of keys, what it receives), in the order of the stream."""
        return [
            (a, g, Share(s.mean / s.queries, s.baseline / s.queries, s.queries, s.strongest, s.weight))
            for (a, g), s in self._found.items()
        ]


def _both(a: Share, b: Share) -> Share:
    """Sums of two slices."""
    most = a if a.weight >= b.weight else b
    return Share(a.mean + b.mean, a.baseline + b.baseline, a.queries + b.queries, most.strongest, most.weight)
