"""Matrices whose cells are blocks of weights: means are small, so all are written in one unit that suits the largest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from attn_cli.report import Head

_UNITS = ("per cent", "tenths of a per cent", "hundredths of a per cent", "thousandths of a per cent")
_LARGEST = 0.995  # is written as 100
_MOST = 9  # powers of ten


def power(heads: Sequence[Head]) -> int:
    """The power of ten that the weights of pooled heads are multiplied by to be written; 0 where nothing is pooled."""
    largest = max((_largest(head) for head in heads if head.pooled is not None), default=0.0)
    if not 0 < largest < _LARGEST:
        return 0
    return min(_MOST, max(0, math.floor(math.log10(_LARGEST / largest))))


def scaled(heads: Sequence[Head], power: int) -> list[Head]:
    """The heads in that unit."""
    factor = np.float32(10**power)
    return [h if h.attn is None or h.pooled is None else replace(h, attn=h.attn * factor) for h in heads]


def said(heads: Sequence[Head], power: int, times: str) -> list[str]:
    """What a cell is, how large the blocks are and in which unit the numbers are."""
    sizes = {(h.pooled.how, h.pooled.queries, h.pooled.keys): None for h in heads if h.pooled is not None}
    what = {"mean": "the mean over", "max": "the largest of"}
    found = [
        f"each cell is {what[how]} a block of {q} {times} {k} weights, masked ones left out" for how, q, k in sizes
    ]
    return [*found, f"numbers are {unit(power)}", "labels are positions; a column's is the first of its block"]


def unit(power: int) -> str:
    """The unit in words."""
    return _UNITS[power] if power < len(_UNITS) else f"1e-{power} per cent"


def _largest(head: Head) -> float:
    if head.attn is None or not head.attn.size:
        return 0.0
    return float(np.nanmax(head.attn, initial=0.0))
