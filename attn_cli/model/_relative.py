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
    """The tables that the attention of every layer reads, under names beside the layer's own."""
    spec, weights = model.spec, model.weights
    tables = {}
    if spec.relative is not None:
        tables["relative"] = weights.read("relative.weight")
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


def distance_vectors(spec: ModelSpec, terms: Disentangled, w: ops.Arrays, side: str) -> np.ndarray:
    """The projected vectors of all distances, as queries or as keys (`side` q or k): (heads, 2 span, d_head)."""
    vectors = ops.linear(w["distances"], w, f"attn.{side}" if terms.shared else f"attn.distance_{side}")
    return vectors.reshape(len(vectors), spec.n_heads, -1).swapaxes(0, 1)


def distance_scores(
    terms: Disentangled,
    vectors: dict[str, np.ndarray],
    q: np.ndarray,
    k: np.ndarray,
    queries: range,
    keys: range,
) -> np.ndarray:
    """What the distances add to the scores of scaled queries `q` (heads, queries, d_head) and scaled keys `k`.

    Content to position and position to content (He 2021, section 3.1, equation 4): (heads, queries, keys).
    """
    index = distance_index(terms, ahead(queries, keys))
    added = np.zeros((len(q), len(queries), len(keys)), q.dtype)
    if "c2p" in terms.terms:
        toward = q @ vectors["k"].swapaxes(1, 2)
        added += np.take_along_axis(toward, np.broadcast_to(index, added.shape), axis=2)
    if "p2c" in terms.terms:
        toward = k @ vectors["q"].swapaxes(1, 2)
        turned = np.broadcast_to(index.T, (len(q), len(keys), len(queries)))
        added += np.take_along_axis(toward, turned, axis=2).swapaxes(1, 2)
    return added
