"""Blocks of weights against the whole matrix."""

from __future__ import annotations

import numpy as np
import pytest

from attn_cli.collect.blocks import Blocks
from tests.blocks import block, random_attn, tokens
from tests.helpers import assert_close

N = 23


def pooled(
    attn: np.ndarray, queries: list[int], keys: list[int], size: tuple[int, int], how: str, *, causal: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The definition: every cell from its own weights; (row blocks, column blocks) and whether anything is to be seen."""
    seen = np.tril(np.ones(attn.shape, bool)) if causal else np.ones(attn.shape, bool)
    shape = (-(-len(queries) // size[0]), -(-len(keys) // size[1]))
    found, visible = np.zeros(shape), np.zeros(shape, bool)
    for i in range(shape[0]):
        for j in range(shape[1]):
            at = np.ix_(queries[i * size[0] : (i + 1) * size[0]], keys[j * size[1] : (j + 1) * size[1]])
            there = attn[at][seen[at]]
            visible[i, j] = there.size > 0
            found[i, j] = 0 if not there.size else there.max() if how == "max" else there.mean()
    return found, visible


@pytest.mark.parametrize("how", ["mean", "max"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("rows", [1, 4, 5, 100])
@pytest.mark.parametrize(
    ("queries", "keys"),
    [(list(range(N)), list(range(N))), (list(range(7, 19)), list(range(3))), ([0, 2, 3, 9, 22], [1, 5, 6, 7, 20])],
)
def test_equals_the_definition(how: str, causal: bool, rows: int, queries: list[int], keys: list[int]) -> None:
    attn, size = random_attn(1, 2, N, causal), (4, 3)
    found = Blocks(queries, keys, size, how)  # type: ignore[arg-type]
    of = tokens([f"t{i}" for i in range(N)])
    for start in range(0, N, rows):
        found.add(block(attn, causal=causal, rows=range(start, min(N, start + rows)), of=of))
    for head in range(2):
        want, visible = pooled(attn[head], queries, keys, size, how, causal=causal)
        assert_close(found.attn(("self", 0, head)), want, 1e-6)
        seen = found.visible(("self", 0, head))
        assert (np.ones_like(visible) if seen is None else seen).tolist() == visible.tolist()


def test_rescaled_rows_sum_to_one_over_the_chosen_keys() -> None:
    attn, keys = random_attn(2, 1, N), list(range(4, 20))
    found = Blocks(list(range(N)), keys, (1, 4), "mean", rescaled=True)
    found.add(block(attn))
    assert_close(found.attn(("self", 0, 0)).sum(-1) * 4, np.ones(N), 1e-6)


def test_a_row_with_nothing_left_does_not_count() -> None:
    attn = np.zeros((1, 4, 4))
    attn[0, :, 0] = 1
    attn[0, 1] = [0.5, 0.5, 0, 0]
    found = Blocks([0, 1, 2, 3], [1, 2, 3], (4, 3), "mean", rescaled=True)
    found.add(block(attn))
    assert_close(found.attn(("self", 0, 0)), np.array([[1 / 3]]), 1e-6)
