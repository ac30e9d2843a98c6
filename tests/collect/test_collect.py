"""Collectors against small computations of another kind."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attn_cli
from attn_cli.collect.divergence import jensen_shannon
from attn_cli.collect.flow import _UNIT, flow, max_flows
from attn_cli.collect.rollout import rollout
from attn_cli.collect.rows import Received, Rows
from attn_cli.model.block import Block
from attn_cli.model.folds import FOLDED, by_norm, fold
from tests.blocks import block, random_attn, tokens
from tests.helpers import GOLDEN, assert_close

TEXT = "the dog slept beside the stove"


def stream(seed: int, layers: int, heads: int, n: int, causal: bool = False, rows: int = 100) -> Iterator[Block]:
    """A model's worth of made-up blocks, whose tokens are one object as in a real stream."""
    of = tokens([f"t{i}" for i in range(n)])
    for layer in range(layers):
        attn = random_attn(seed + layer, heads, n, causal)
        for start in range(0, n, rows):
            yield block(attn, causal=causal, rows=range(start, min(start + rows, n)), of=of, layer=layer)


@pytest.mark.parametrize("model", ["bert", "gpt2", "mistral"])
def test_rollout_is_the_product_of_the_layers_printed_means(model: str) -> None:
    loaded = attn_cli.load(GOLDEN / model, dtype=np.float64)
    a = loaded.attend(TEXT).attn
    want, wanted = np.eye(a.shape[-1]), []
    for layer in a:  # later layers on the left, the residual stream half
        want = ((layer.mean(0) + np.eye(len(want))) / 2) @ want
        wanted.append(want)
    every = {"self": range(len(a))}
    for rows in (None, 2):
        found = list(rollout(loaded.blocks(loaded.encode(TEXT), block_rows=rows), every))
        assert [b.heads for b in found] == [(FOLDED,)] * len(a)
        for got, layer in zip(found, wanted, strict=True):
            assert_close(got.attn[0], layer, 1e-12)
            assert_close(got.attn.sum(-1), np.ones((1, len(want))), 1e-12)
    if loaded.spec.causal:
        assert not np.triu(found[-1].attn[0], 1).any()
        assert not found[-1].mask[0, 1:].any()


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 8), st.integers(1, 4), st.booleans(), st.integers(1, 8))
def test_rollout_rows_sum_to_one(seed: int, n: int, layers: int, causal: bool, rows: int) -> None:
    for made in rollout(stream(seed, layers, 2, n, causal, rows), {"self": range(layers)}):
        assert_close(made.attn.sum(-1), np.ones((1, n)), 1e-9)


def augmenting_paths(edges: list[np.ndarray], query: int, key: int) -> float:
    """Edmonds and Karp 1972: the textbook's way, one shortest path after another."""
    n, depth = len(edges[0]), len(edges)
    room: dict[tuple[int, int], int] = {}
    for level, edge in enumerate(reversed(edges)):
        for i in range(n):
            for j in range(n):
                room[level * n + i, (level + 1) * n + j] = round(edge[i, j] * _UNIT)
    ahead: dict[int, set[int]] = {}
    for a, b in list(room):
        ahead.setdefault(a, set()).add(b)
        ahead.setdefault(b, set()).add(a)
        room.setdefault((b, a), 0)
    sink, total = depth * n + key, 0
    while True:
        came: dict[int, int] = {query: -1}
        line = deque([query])
        while line and sink not in came:
            at = line.popleft()
            for to in ahead[at]:
                if to not in came and room[at, to] > 0:
                    came[to] = at
                    line.append(to)
        if sink not in came:
            return total / _UNIT
        path, at = [], sink
        while came[at] >= 0:
            path.append((came[at], at))
            at = came[at]
        least = min(room[e] for e in path)
        for a, b in path:
            room[a, b] -= least
            room[b, a] += least
        total += least


@pytest.mark.parametrize(
    ("seed", "n", "layers", "causal"), [(0, 4, 2, False), (1, 5, 3, True), (2, 6, 3, False), (3, 3, 5, True)]
)
def test_flow_is_the_maximum_flow(seed: int, n: int, layers: int, causal: bool) -> None:
    edges = [(random_attn(seed + i, 1, n, causal)[0] + np.eye(n)) / 2 for i in range(layers)]
    for query in (0, n - 1):
        found = max_flows(edges, query)
        assert_close(found, np.array([augmenting_paths(edges, query, k) for k in range(n)]), 1e-9)
    blocks = list(flow(stream(seed, layers, 1, n, causal), {"self": (layers - 1,)}, {"self": [n - 1]}))
    assert [b.queries for b in blocks] == [range(n - 1, n)]
    assert_close(blocks[0].attn[0, 0], max_flows(edges, n - 1), 1e-9)


def test_flow_needs_paths_around_a_narrow_place() -> None:
    # 0 reaches 1 by two ways, of 0.3 and 0.2; a single path would carry only the wider
    below = np.array([[0.5, 0.3, 0.2], [0.0, 1.0, 0.0], [0.0, 0.2, 0.8]])
    above = np.array([[0.6, 0.0, 0.4], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert max_flows([below, above], 0)[1] == pytest.approx(0.3 + 0.2)


def test_norm_by_hand() -> None:
    loaded = attn_cli.load(GOLDEN / "bert", dtype=np.float64)
    text = loaded.encode(TEXT)
    a = loaded.attend(TEXT, keep=("v",))
    d = loaded.spec.d_head
    for made in by_norm(loaded.blocks(text)):
        w_o = loaded.weights.layer(made.layer)["attn.o.weight"]
        for head in made.heads:
            moved = a.kept["v"][made.layer, head] @ w_o[:, head * d : (head + 1) * d].T  # (keys, d_model)
            for query in range(len(text)):
                sizes = np.array(
                    [np.linalg.norm(w * m) for w, m in zip(a.attn[made.layer, head, query], moved, strict=True)]
                )
                assert_close(made.attn[head, query], sizes / sizes.sum(), 1e-12)


def test_folds_are_the_plain_mean_and_maximum() -> None:
    whole = np.stack([random_attn(i, 3, 5) for i in range(2)])
    for rows in (2, 5):
        (made,) = fold(stream(0, 2, 3, 5, rows=rows), "mean", frozenset({"heads", "layers"}))
        assert_close(made.attn, whole.mean((0, 1))[None], 1e-12)
        (made,) = fold(stream(0, 2, 3, 5, rows=rows), "max", frozenset({"layers"}))
        assert_close(made.attn, whole.max(0), 1e-12)
        folded = [b for b in fold(stream(0, 2, 3, 5, rows=rows), "max", frozenset({"heads"})) if b.layer == 1]
        assert_close(np.concatenate([b.attn for b in folded], axis=1), whole[1].max(0)[None], 1e-12)
    assert fold(stream(0, 1, 3, 5), "mean", frozenset({"heads"})).__next__().attn.sum() == pytest.approx(5)


def test_rows_and_received() -> None:
    attn = random_attn(4, 2, 6)
    for size in (2, 6):
        rows, received = Rows({"self": [(1,), (2, 3)]}), Received({"self": [(4,), (0, 1)]})
        for made in stream(4, 1, 2, 6, rows=size):
            rows.add(made)
            received.add(made)
        found = {(a[2], g): row for a, g, row, _ in rows.found()}
        assert_close(found[1, 1], attn[1, 2:4].mean(0), 1e-12)
        shares = {(a[2], g): s for a, g, s in received.found()}
        others = [q for q in range(6) if q not in (0, 1)]
        want = attn[0][others][:, [0, 1]].sum(-1)
        assert shares[0, 1].mean == pytest.approx(want.mean())
        assert shares[0, 1].baseline == pytest.approx(2 / 6)
        assert (shares[0, 1].strongest, shares[0, 1].weight) == (others[int(want.argmax())], pytest.approx(want.max()))
        assert shares[0, 1].queries == 4


def test_received_counts_only_who_may_look() -> None:
    attn = random_attn(5, 1, 4, causal=True)
    received = Received({"self": [(2,), (3,)]})
    received.add(block(attn, causal=True))
    ((_, group, share),) = received.found()  # nobody but itself sees the last token
    assert (group, share.queries, share.strongest) == (0, 1, 3)
    assert share.mean == pytest.approx(attn[0, 3, 2])
    assert share.baseline == pytest.approx(1 / 4)


def test_divergence() -> None:
    same = np.array([[0.2, 0.8], [1.0, 0.0], [0.5, 0.5], [0.0, 0.0]])
    other = np.array([[0.2, 0.8], [0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
    found = jensen_shannon(same, other)
    assert found[:2].tolist() == [0, 1]
    # m = (0.75, 0.25): H(m) - (1 + 0) / 2
    assert found[2] == pytest.approx(-(0.75 * np.log2(0.75) + 0.25 * np.log2(0.25)) - 0.5)
    assert np.isnan(found[3])
    assert_close(jensen_shannon(other[:3], same[:3] * 0.5), found[:3], 1e-12)
