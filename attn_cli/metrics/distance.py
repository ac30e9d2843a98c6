"""How far a query looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._rows import is_cross, nowhere, offsets

if TYPE_CHECKING:
    from attn_cli.model.block import Block

TITLE = "mean distance"
UNIT = "tokens"
RANGE = (0.0, float("inf"))
SOURCE = "Vig and Belinkov 2019, arXiv 1906.04284, attention distance"
NEEDS = ("attn",)


def score(block: Block) -> np.ndarray:
    """The mean number of places between query and key, weighted by attention; NaN where there is only one key to see."""
    if is_cross(block):
        return nowhere(block)
    total = block.attn.sum(-1)
    far = np.einsum("hqk,qk->hq", block.attn, np.abs(offsets(block)).astype(block.attn.dtype))
    choice = (block.mask.sum(-1) > 1) & (total > 0)
    return np.where(choice, far / np.where(total > 0, total, 1), np.nan)
