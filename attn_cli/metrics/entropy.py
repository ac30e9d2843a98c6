"""How spread a query's attention is: the entropy of its row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._rows import bits

if TYPE_CHECKING:
    import numpy as np

    from attn_cli.model.block import Block

TITLE = "entropy"
UNIT = "bits"
RANGE = (0.0, float("inf"))
SOURCE = "Shannon 1948, section 6; of attention rows: Clark et al. 2019, arXiv 1906.04341, section 3.3"
NEEDS = ("attn",)


def score(block: Block) -> np.ndarray:
    """Bits: 0 when all weight is on one key, log2 of the number of keys when it is even."""
    return bits(block)
