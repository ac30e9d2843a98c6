"""How much a query looks at its near surroundings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._rows import is_cross, nowhere, offsets, share

if TYPE_CHECKING:
    from attn_cli.model.block import Block

REACH = 2  # tokens to either side

TITLE = f"within {REACH} tokens"
UNIT = "share"
RANGE = (0.0, 1.0)
SOURCE = "Voita et al. 2019, arXiv 1905.09418, section 5.1, positional heads; here a window instead of one place"
NEEDS = ("attn",)


def score(block: Block) -> np.ndarray:
    """The weight on keys at most REACH places away, the query's own included."""
    return nowhere(block) if is_cross(block) else share(block, np.abs(offsets(block)) <= REACH)
