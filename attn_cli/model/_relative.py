"""Distance between tokens inside attention: a bias for each bucket of distances, or vectors of its own.

Buckets are worked out in float32, as the models were trained with: elsewhere a distance could fall beside its bucket.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from attn_cli.model import ops
from attn_cli.spec import Disentangled, ModelSpec, Relative

if TYPE_CHECKING:
    from attn_cli.model import Model


def shared(model: Model) -> dict[str, np.ndarray]:
    """The tables that the attention of every layer reads, under names as if they were the layer's own."""
    spec, weights = model.spec, model.weights
    tables = {}
    if spec.relative is not None and "relative.weight" in weights:
        tables["attn.relative.weight"] = weights.read("relative.weight")
    if spec.disentangled is not None:
        distances = weights.read("distance.weight")
        if spec.disentangled.norm:
            distances = ops.norm(distances, weights.part("distance.norm"), "", spec)
        tables["distances"] = distances
    return tables


def ahead(queries: range, keys: range) -> np.ndarray:
    """How far each key stands ahead of each query: (queries, keys), negative where it stands before."""
    return np.arange(keys.start, keys.stop) - np.arange(queries.start, queries.stop)[:, None]


def buckets(relative: Relative, distance: np.ndarray, *, causal: bool) -> np.ndarray:
    """The bucket of each key's distance ahead of its query (Raffel 2020, arXiv 1910.10683, section 2.1).

    Two-sided stacks give half of the buckets to keys that come later; a causal one counts all of those as distance 0.
    """
    n = relative.buckets if causal else relative.buckets // 2
    steps = np.maximum(-distance, 0) if causal else np.abs(distance)
    exact = n // 2
    grown = _log(np.maximum(steps, 1).astype(np.float32) / np.float32(exact))
    grown = grown / np.float32(math.log(relative.max_distance / exact)) * np.float32(n - exact)
    found = np.where(steps < exact, steps, np.minimum(exact + grown.astype(np.int64), n - 1))
    return found if causal else found + n * (distance > 0)


def _log(x: np.ndarray) -> np.ndarray:
    """The logarithm of float32 numbers, rounded to the nearest float32: the same for an array and for one number."""
    found: np.ndarray = np.log(x.astype(np.float64)).astype(np.float32)
    return found


def relative_bias(
    spec: ModelSpec, relative: Relative, table: np.ndarray, heads: Sequence[int], queries: range, keys: range
) -> np.ndarray:
    """What each bucket adds to the scaled scores: (heads, queries, keys); `table` is (buckets, heads)."""
    line = np.arange(keys.start - queries.stop + 1, keys.stop - queries.start)  # every distance there is, once
    values = table[buckets(relative, line, causal=spec.causal)][:, list(heads)].T
    # row i of the block is the line from its own distance to the first key on
    windows = np.lib.stride_tricks.sliding_window_view(values, len(keys), axis=1)
    return windows[:, ::-1]


def distance_index(terms: Disentangled, distance: np.ndarray) -> np.ndarray:
    """Which distance's vector stands for a key this far ahead of its query: the far ones share one at each end.

    He 2021, arXiv 2006.03654, equation 3, with a query's place minus a key's; the logarithmic buckets are those of the
    version-2 models.
    """
    back = -distance
    if terms.log_up_to is not None:
        half = terms.span // 2
        steps = np.maximum(np.abs(back), half).astype(np.float32)
        whole = _log(np.array((terms.log_up_to - 1) / half, np.float32))
        grown = np.ceil(_log(steps / np.float32(half)) / whole * np.float32(half - 1)) + half
        back = np.where(steps <= half, back, (grown * np.sign(back)).astype(np.int64))
    found: np.ndarray = np.clip(back + terms.span, 0, 2 * terms.span - 1)
    return found


def distance_vectors(
    spec: ModelSpec, terms: Disentangled, w: ops.Arrays, side: str, rows: np.ndarray | None = None
) -> np.ndarray:
    """The projected vectors of all distances, or of some, as queries or as keys (`side` q or k): (heads, rows, d_head)."""
    distances = w["distances"] if rows is None else w["distances"][rows]
    vectors = ops.linear(distances, w, f"attn.{side}" if terms.shared else f"attn.distance_{side}")
    return vectors.reshape(len(vectors), spec.n_heads, -1).swapaxes(0, 1)


class Distances:
    """The distances of one text in one layer: what they add to the scores (He 2021, section 3.1, equation 4).

    Only vectors of distances that occur are projected, and keys meet them once, not once for each slice of queries.
    """

    def __init__(self, spec: ModelSpec, terms: Disentangled, w: ops.Arrays, scaled_k: np.ndarray) -> None:
        """`scaled_k`: all keys times the scale of the scores, (heads, keys, d_head)."""
        n = scaled_k.shape[1]
        rows, self._row = np.unique(distance_index(terms, np.arange(1 - n, n)), return_inverse=True)
        self._row = self._row.ravel()  # of the vector for a key that stands ahead by its index + 1 - n
        self._n, self._n_rows = n, len(rows)
        self._keys = distance_vectors(spec, terms, w, "k", rows) if "c2p" in terms.terms else None
        by_key = distance_vectors(spec, terms, w, "q", rows) if "p2c" in terms.terms else None
        self._by_key = None if by_key is None else scaled_k @ by_key.swapaxes(1, 2)  # (heads, keys, rows)

    def scores(self, scaled_q: np.ndarray, heads: Sequence[int], queries: range, keys: range) -> np.ndarray:
        """What they add for `scaled_q`, the queries of these heads times the scale: (heads, queries, keys)."""
        index = self._row[ahead(queries, keys) + self._n - 1]
        added = np.zeros((len(heads), *index.shape), scaled_q.dtype)
        if self._keys is not None:
            at = index + self._n_rows * np.arange(len(queries))[:, None]
            for i, head in enumerate(heads):
                added[i] += (scaled_q[i] @ self._keys[head].T).reshape(-1).take(at)
        if self._by_key is not None:
            at = index + self._n_rows * np.arange(keys.start, keys.stop)
            for i, head in enumerate(heads):
                added[i] += self._by_key[head].reshape(-1).take(at)
        return added
