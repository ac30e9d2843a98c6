"""How much a query looks at itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._rows import at_offset

if TYPE_CHECKING:
    import numpy as np

    from attn_cli.model.block import Block

TITLE = "self"
UNIT = "share"
RANGE = (0.0, 1.0)
SOURCE = "Clark et al. 2019, arXiv 1906.04341, section 3.1"
NEEDS = ("attn",)


def score(block: Block) -> np.ndarray:
    """The weight on the query's own place."""
    return at_offset(block, 0)
