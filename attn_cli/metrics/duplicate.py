"""How much a query looks at earlier copies of its own token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._rows import is_cross, nowhere, same_token, share

if TYPE_CHECKING:
    import numpy as np

    from attn_cli.model.block import Block

TITLE = "same token earlier"
UNIT = "share"
RANGE = (0.0, 1.0)
SOURCE = "Wang et al. 2022, arXiv 2211.00593, section 3, duplicate token heads"
NEEDS = ("attn",)


def score(block: Block) -> np.ndarray:
    """The weight on all earlier places of the same token; special tokens, and tokens without a copy, have none."""
    return nowhere(block) if is_cross(block) else share(block, same_token(block, 0))
