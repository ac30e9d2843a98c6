"""Attention flow: the most that could run from one position down to each input token, as through pipes.

Abnar and Zuidema 2020, arXiv 2005.00928, section 3: layers are joined by pipes as wide as the rollout's edges, mean over heads
and residual stream half each; the flow to a token is the maximum flow from the query at the top to that token at the bottom.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from attn_cli.collect.rollout import folded, layers
from attn_cli.errors import TextError
from attn_cli.model.block import Block

MOST_NODES = 8192  # the residual network is held as one matrix of nodes x nodes
_UNIT = 1 << 40  # a pipe's width in whole numbers, so that the search ends and nothing is lost to rounding on the way


def flow(
    blocks: Iterable[Block], wanted: Mapping[str, Collection[int]], queries: Mapping[str, Sequence[int]]
) -> Iterator[Block]:
    """A block for each wanted query of each wanted layer; the stream must hold every head of every layer below."""
    below: dict[str, list[np.ndarray]] = {}
    for layer in layers(blocks):
        kind, n = layer.block.kind, len(layer.edges)
        edges = below.setdefault(kind, [])
        edges.append(layer.edges)
        if (len(edges) + 1) * n > MOST_NODES:
            raise TextError(
                f"{n} tokens and {len(edges)} layers are too many for the flow",
                "shorten the text, or use --measure rollout",
            )
        if layer.block.layer not in wanted.get(kind, ()):
            continue
        for query in queries.get(kind, ()):
            row = max_flows(edges, query)
            yield folded(layer.block, row[None], (row > 0)[None], range(query, query + 1))


def max_flows(edges: Sequence[np.ndarray], query: int) -> np.ndarray:
    """The maximum flow from one query of the last layer to each key of the first: (keys,), 0 to 1.

    `edges` are (queries, keys) per layer, from the first on.
    """
    n, depth = len(edges[0]), len(edges)
    nodes = (depth + 1) * n  # the top layer's queries first, the input tokens last
    widths = np.zeros((nodes, nodes), np.int64)
    for level, edge in enumerate(reversed(edges)):
        at = level * n
        widths[at : at + n, at + n : at + 2 * n] = np.round(edge * _UNIT)
    found = np.array([_max_flow(widths, query, depth * n + key) for key in range(n)]) / _UNIT
    return np.minimum(found, 1.0)  # widths are rounded one by one


def _max_flow(widths: np.ndarray, source: int, sink: int) -> int:
    """Dinic's method (1970): blocking flows along shortest paths until none is left; (nodes, nodes) int, not changed."""
    left, free = widths.copy(), widths > 0
    total, most = 0, int(min(widths[source].sum(), widths[:, sink].sum()))
    while total < most and (levels := _levels(free, source, sink)) is not None:
        total += _blocking_flow(left, free, levels)
    return total


def _levels(free: np.ndarray, source: int, sink: int) -> list[np.ndarray] | None:
    """The nodes by their distance from the source, those only that lie on a shortest path to the sink; None without a path.

    `free` is (nodes, nodes) bool: there is room from one to the other.
    """
    new = np.ones(len(free), bool)
    new[source] = False
    levels = [np.array([source])]
    while sink not in levels[-1]:
        reached = np.flatnonzero(free[levels[-1]].any(0) & new)
        if not len(reached):
            return None
        new[reached] = False
        levels.append(reached)
    levels[-1] = np.array([sink])
    for d in range(len(levels) - 2, 0, -1):
        levels[d] = levels[d][free[levels[d][:, None], levels[d + 1]].any(1)]
    return levels


def _blocking_flow(left: np.ndarray, free: np.ndarray, levels: list[np.ndarray]) -> int:
    """Adds a flow that fills a pipe of every shortest path, in waves (Karzanov 1974, Tarjan 1984); changes `left` and `free`.

    Each wave pushes what stands at the nodes down, level by level; what a node cannot pass on goes back up, and nothing is
    sent to that node again.
    """
    room = [left[a[:, None], b] for a, b in pairwise(levels)]
    sent = [np.zeros_like(r) for r in room]
    waiting = [np.zeros(len(nodes), np.int64) for nodes in levels]
    open_ = [np.ones(len(nodes), bool) for nodes in levels]
    waiting[0][:] = room[0].sum()
    last = len(levels) - 1
    while True:
        for d in range(last):
            if not waiting[d].any():
                continue
            pushed = _push(waiting[d], room[d] * open_[d + 1])
            room[d] -= pushed
            sent[d] += pushed
            waiting[d] -= pushed.sum(1)
            waiting[d + 1] += pushed.sum(0)
        if not any(w.any() for w in waiting[1:last]):
            break
        for d in range(last - 1, 0, -1):
            if not waiting[d].any():
                continue
            open_[d] &= waiting[d] == 0
            back = _push(waiting[d], sent[d - 1].T).T
            sent[d - 1] -= back
            room[d - 1] += back
            waiting[d] -= back.sum(0)
            waiting[d - 1] += back.sum(1)
    for d, (a, b) in enumerate(pairwise(levels)):
        left[a[:, None], b] = room[d]
        free[a[:, None], b] = room[d] > 0
        back = left[b[:, None], a] + sent[d].T
        left[b[:, None], a] = back
        free[b[:, None], a] = back > 0
    return int(waiting[last].sum())


def _push(amounts: np.ndarray, room: np.ndarray) -> np.ndarray:
    """How much of its amount each row sends where: evenly by room as far as whole numbers go, the rest from the first on."""
    able = room.sum(1)
    amounts = np.minimum(amounts, able)
    even = np.floor(room * (amounts / np.maximum(able, 1))[:, None]).astype(np.int64)
    even = np.minimum(even, room)
    over = np.maximum(even.sum(1) - amounts, 0)
    if over.any():  # rounding of the quotient
        even[over > 0] = 0
    rest, free = amounts - even.sum(1), room - even
    before = np.cumsum(free, axis=1) - free
    even += np.minimum(np.maximum(rest[:, None] - before, 0), free)
    return np.asarray(even)
