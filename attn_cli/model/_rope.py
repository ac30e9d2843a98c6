"""Rotary positions (Su 2021, arXiv 2104.09864) and the ways to stretch them beyond the length of training.

Each pair of components turns by position * frequency. A stretch changes the frequencies, and with YaRN and LongRoPE the length
of the turned vectors too.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from attn_cli.spec import Rope

Table = tuple[np.ndarray, np.ndarray]


@lru_cache(maxsize=8)
def table(rope: Rope, n: int, dtype: np.dtype) -> Table:
    """Cosines and sines of every position's angles, times the magnitude: two arrays (n, dims / 2)."""
    angles = np.arange(n)[:, None] * frequencies(rope, n)
    cos, sin = ((rope.magnitude * f).astype(dtype) for f in (np.cos(angles), np.sin(angles)))
    for array in (cos, sin):
        array.flags.writeable = False
    return cos, sin


def rotate(x: np.ndarray, rope: Rope, cos_sin: Table) -> np.ndarray:
    """Turns the first `rope.dims` components of each head (Su 2021, section 3.2.2): (heads, tokens, d_head) likewise."""
    cos, sin = cos_sin
    half = rope.dims // 2
    y = x.copy()
    if rope.pairs == "halves":
        a, b = x[..., :half], x[..., half : rope.dims]
        y[..., :half], y[..., half : rope.dims] = a * cos - b * sin, b * cos + a * sin
    else:
        a, b = x[..., 0 : rope.dims : 2], x[..., 1 : rope.dims : 2]
        y[..., 0 : rope.dims : 2], y[..., 1 : rope.dims : 2] = a * cos - b * sin, b * cos + a * sin
    return y


def frequencies(rope: Rope, n: int) -> np.ndarray:
    """The angle per position of each pair, for a text of n tokens: (dims / 2,), float64."""
    plain = _plain(rope.theta, rope.dims)
    if rope.scaling == "linear":  # Chen 2023, arXiv 2306.15595, section 2.3
        plain /= rope.factor
    if rope.scaling == "dynamic":
        return _dynamic(rope, n)
    if rope.scaling == "llama3":
        return _llama3(rope, plain)
    if rope.scaling == "yarn":
        return _yarn(rope, plain)
    if rope.scaling == "longrope":  # Ding 2024, arXiv 2402.13753, section 3.2
        plain /= np.array(rope.long if n > rope.original else rope.short)
    return plain


def _plain(theta: float, dims: int) -> np.ndarray:
    found: np.ndarray = theta ** -(np.arange(0, dims, 2) / dims)
    return found


def _dynamic(rope: Rope, n: int) -> np.ndarray:
    """A larger base once the text is longer than the texts of training (Peng 2023, arXiv 2309.00071, section 3.3)."""
    stretch = rope.factor * max(n, rope.original) / rope.original - (rope.factor - 1)
    return _plain(rope.theta * stretch ** (rope.dims / (rope.dims - 2)), rope.dims)


def _llama3(rope: Rope, plain: np.ndarray) -> np.ndarray:
    """Slow pairs divided by the factor, fast ones kept, a ramp between (Dubey 2024, arXiv 2407.21783, section 3.4.2)."""
    turns = rope.original * plain / (2 * math.pi)  # of each pair over the original length
    kept = np.clip((turns - rope.low) / (rope.high - rope.low), 0, 1)
    found: np.ndarray = (1 - kept) * plain / rope.factor + kept * plain
    return found


def _yarn(rope: Rope, plain: np.ndarray) -> np.ndarray:
    """As llama3, but the ramp runs over the number of the pair (Peng 2023, arXiv 2309.00071, section 3.2)."""

    def pair_of(turns: float) -> float:
        return rope.dims * math.log(rope.original / (turns * 2 * math.pi)) / (2 * math.log(rope.theta))

    first, last = pair_of(rope.high), pair_of(rope.low)
    if rope.truncate:
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, rope.dims - 1)
    if first == last:
        last += 0.001  # the reference's own way round a division by zero
    divided = np.clip((np.arange(rope.dims // 2) - first) / (last - first), 0, 1)
    found: np.ndarray = (1 - divided) * plain + divided * plain / rope.factor
    return found
