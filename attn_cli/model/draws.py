"""Random weights that are the same numbers on every machine and in every version.

NumPy keeps the raw stream of PCG64 stable, not the distributions built on it. So every number is made here from one raw
64-bit draw by whole-number sums and one multiplication: the sum of its four 16-bit parts, which is nearly normal.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_MEAN = 2 * 65535.0  # of the sum of four 16-bit numbers
_SPREAD = ((2.0**32 - 1) / 3) ** 0.5  # its standard deviation
_STREAM = 2**64  # draws between the starts of two streams of one seed


def normal(seed: int, stream: int, start: int, count: int) -> np.ndarray:
    """`count` numbers of mean 0 and variance 1 from place `start` of a stream of `seed`, float64."""
    generator = np.random.PCG64(seed)
    generator.advance(stream * _STREAM + start)
    raw = generator.random_raw(count)
    parts = raw.astype("<u8", copy=False).view("<u2").reshape(count, 4)
    found: np.ndarray = (parts.sum(1, dtype=np.int64) - _MEAN) / _SPREAD
    return found


def matrix(seed: int, stream: int, rows: int, columns: int, scale: float) -> np.ndarray:
    """(rows, columns) float32 of standard deviation `scale`."""
    return (normal(seed, stream, 0, rows * columns) * scale).reshape(rows, columns).astype(np.float32)


def vectors(seed: int, ids: Sequence[int], width: int) -> np.ndarray:
    """One vector of unit variance per id, the same whatever the other ids are: (len(ids), width) float32, stream 0."""
    rows = [normal(seed, 0, i * width, width) for i in ids]
    return np.array(rows, dtype=np.float32).reshape(len(ids), width)
