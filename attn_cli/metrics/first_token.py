"""How much a query looks at the first token, where many models park what they have no use for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._rows import is_cross, keys_that, share

if TYPE_CHECKING:
    from attn_cli.model.block import Block

TITLE = "first token (sink)"
UNIT = "share"
RANGE = (0.0, 1.0)
SOURCE = "Xiao et al. 2023, arXiv 2309.17453, section 3.1"
NEEDS = ("attn",)


def score(block: Block) -> np.ndarray:
    """The weight on position 0; not of the first token's own row, where that would be a look at itself."""
    found = share(block, keys_that(block, np.arange(len(block.key_tokens)) == 0))
    if block.queries.start == 0 and not is_cross(block):
        found[:, 0] = np.nan
    return found
