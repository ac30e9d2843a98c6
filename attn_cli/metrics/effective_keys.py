"""How many keys a query looks at, as it were: 2 to the power of its entropy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._rows import bits

if TYPE_CHECKING:
    from attn_cli.model.block import Block

TITLE = "effective number of keys"
UNIT = "keys"
RANGE = (1.0, float("inf"))
SOURCE = "Hill 1973, Ecology 54(2), diversity of order 1"
NEEDS = ("attn",)


def score(block: Block) -> np.ndarray:
    """1 when all weight is on one key, the number of keys when it is even."""
    found: np.ndarray = np.exp2(bits(block))
    return found
