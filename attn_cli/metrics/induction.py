"""How much a query looks at what came after an earlier copy of its token: A B ... A looks at B."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._rows import is_cross, nowhere, offsets, same_token, share

if TYPE_CHECKING:
    import numpy as np

    from attn_cli.model.block import Block

TITLE = "induction"
UNIT = "share"
RANGE = (0.0, 1.0)
SOURCE = "Elhage et al. 2021, A Mathematical Framework for Transformer Circuits; Olsson et al. 2022, arXiv 2209.11895"
NEEDS = ("attn",)


def score(block: Block) -> np.ndarray:
    """The weight on the tokens right after earlier copies of the query's token.

    Where the copy stands directly before the query, the token after it is the query itself: that one does not count.
    """
    if is_cross(block):
        return nowhere(block)
    return share(block, same_token(block, 1) & (offsets(block) < 0))
