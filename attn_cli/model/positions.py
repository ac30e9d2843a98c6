"""Where tokens stand: position vectors, biases of distance, and which keys a query may see."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attn_cli.spec import Alibi, ModelSpec


def sinusoids(n: int, width: int, dtype: np.dtype) -> np.ndarray:
    """Sines and cosines in turn (Vaswani 2017, arXiv 1706.03762, section 3.5): (n, width), each row of norm sqrt(width/2)."""
    angles = np.arange(n)[:, None] / 10000.0 ** (np.arange(0, width, 2) / width)
    table = np.empty((n, width))
    table[:, 0::2] = np.sin(angles)
    table[:, 1::2] = np.cos(angles[:, : width // 2])
    return table.astype(dtype)


def sinusoid_halves(n: int, width: int, dtype: np.dtype) -> np.ndarray:
    """All sines, then all cosines, of the same angles (Vaswani 2017, section 3.5, as Marian lays them out): (n, width)."""
    angles = np.arange(n)[:, None] / 10000.0 ** (2 * (np.arange(width) // 2) / width)
    return np.concatenate([np.sin(angles[:, 0::2]), np.cos(angles[:, 1::2])], axis=1).astype(dtype)


def sinusoid_steps(spec: ModelSpec, ids: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """Sines, then cosines, of frequencies from 1 to 1/10000, as in tensor2tensor: (n, d_model).

    Zero where a token has no place.
    """
    at = np.array(rows(spec, ids))[:, None]
    half = spec.d_model // 2
    angles = at * 10000.0 ** (-np.arange(half) / max(half - 1, 1))
    found = np.zeros((len(at), spec.d_model))
    found[:, :half], found[:, half : 2 * half] = np.sin(angles), np.cos(angles)
    return np.where(at >= spec.position_offset, found, 0).astype(dtype)


def rows(spec: ModelSpec, ids: Sequence[int]) -> Sequence[int]:
    """The row of the position table that each token reads."""
    if spec.unplaced_id is None or spec.unplaced_id not in ids:
        return range(spec.position_offset, spec.position_offset + len(ids))
    placed = np.array(ids) != spec.unplaced_id
    found: list[int] = (np.where(placed, np.cumsum(placed), 0) + spec.position_offset - 1).tolist()
    return found


def slopes(alibi: Alibi, n_heads: int) -> np.ndarray:
    """ALiBi's slope of each head (Press 2021, arXiv 2108.12409, section 3): (heads,), float64.

    Of a head count that is no power of two, the odd-numbered slopes of the next power come first, then the others.
    """
    power = 1 << (n_heads - 1).bit_length()
    found = 2.0 ** (-alibi.max_bias * np.arange(1, power + 1) / power)
    return found if power == n_heads else np.concatenate([found[1::2], found[::2]])[:n_heads]


def alibi_bias(spec: ModelSpec, alibi: Alibi, heads: Sequence[int], queries: range, keys: range) -> np.ndarray:
    """What ALiBi adds to the scaled scores: (heads, queries or 1, keys), float64."""
    slope = slopes(alibi, spec.n_heads)[list(heads), None, None]
    at = np.arange(keys.start, keys.stop)
    away = at - np.arange(queries.start, queries.stop)[:, None]
    # Falcon was trained with these roundings, which depend on the key's place and not on the distance
    bias = bfloat16(bfloat16(slope) * at) if alibi.bfloat16 else slope * away
    if alibi.before_scale:
        bias = bias * (spec.d_head**-0.5 if spec.scale is None else spec.scale)
    return bias


def bfloat16(x: np.ndarray) -> np.ndarray:
    """Rounded to the nearest bfloat16, ties to even; float64."""
    bits = x.astype(np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return rounded.view(np.float32).astype(np.float64)


def visible_keys(spec: ModelSpec, layer: int, queries: range, n_keys: int) -> range:
    """The keys that at least one of these queries may see: no other key is computed."""
    window = spec.window_at(layer)
    start = 0 if window is None else max(0, queries.start - window + 1)
    reach = queries.stop if spec.causal else n_keys if window is None else queries.stop + window - 1
    return range(start, min(reach, n_keys))


def forbidden(spec: ModelSpec, layer: int, queries: range, keys: range) -> np.ndarray | None:
    """True where the mask hides a key from a query: (queries, keys), or None where nothing is hidden."""
    window = spec.window_at(layer)
    future = spec.causal and keys.stop > queries.start + 1
    far = window is not None and max(keys.stop - queries.start, queries.stop - keys.start) > window
    if not future and not far:
        return None
    ahead = np.arange(keys.start, keys.stop)[None, :] - np.arange(queries.start, queries.stop)[:, None]
    hidden: np.ndarray = (ahead > 0) & spec.causal
    if window is not None:
        hidden |= np.abs(ahead) >= window
    return hidden
