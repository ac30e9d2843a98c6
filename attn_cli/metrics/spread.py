"""How spread a query's attention is, whatever the number of keys: the normalised entropy of its row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._rows import bits

if TYPE_CHECKING:
    from attn_cli.model.block import Block

TITLE = "normalised entropy"
UNIT = "of log2 n"
RANGE = (0.0, 1.0)
SOURCE = (
    "Shannon 1948, section 7, relative entropy; of attention rows: Clark et al. 2019, arXiv 1906.04341, section 3.3"
)
NEEDS = ("attn",)


def score(block: Block) -> np.ndarray:
    """Entropy over log2 of the number of keys that the query may see: 0 to 1; NaN where that is one key."""
    seen = block.mask.sum(-1)
    return np.where(seen > 1, bits(block) / np.log2(np.maximum(seen, 2)), np.nan)
