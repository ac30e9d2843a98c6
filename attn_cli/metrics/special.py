"""How much a query looks at separators and other special tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._rows import is_special, keys_that, share

if TYPE_CHECKING:
    from attn_cli.model.block import Block

TITLE = "separators"
UNIT = "share"
RANGE = (0.0, 1.0)
SOURCE = "Clark et al. 2019, arXiv 1906.04341, section 3.2"
NEEDS = ("attn",)


def score(block: Block) -> np.ndarray:
    """The weight on special tokens such as [SEP] and </s>, but for position 0, which `first_token` measures."""
    tokens = block.key_tokens
    return share(block, keys_that(block, is_special(tokens) & (np.arange(len(tokens)) > 0)))
