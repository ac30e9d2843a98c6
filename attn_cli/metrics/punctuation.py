"""How much a query looks at punctuation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._rows import is_punctuation, keys_that, share

if TYPE_CHECKING:
    import numpy as np

    from attn_cli.model.block import Block

TITLE = "punctuation"
UNIT = "share"
RANGE = (0.0, 1.0)
SOURCE = "Clark et al. 2019, arXiv 1906.04341, section 3.2"
NEEDS = ("attn",)


def score(block: Block) -> np.ndarray:
    """The weight on tokens that are nothing but punctuation, by Unicode."""
    return share(block, keys_that(block, is_punctuation(block.key_tokens)))
