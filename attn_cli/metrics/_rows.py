"""What metrics share: places of queries and keys, and the weight of a row on the keys that count."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from attn_cli.model.block import Block
    from attn_cli.tokens import Tokens


def offsets(block: Block) -> np.ndarray:
    """(queries, keys) int: how far each key stands after the query; negative before it."""
    queries, keys = block.queries, block.keys
    places = [np.arange(r.start, r.stop, dtype=np.int32) for r in (queries, keys)]
    return np.asarray(places[1][None, :] - places[0][:, None])


def share(block: Block, counts: np.ndarray) -> np.ndarray:
    """(heads, queries): the weight on the keys that `counts`, (queries, keys) bool.

    NaN where a query may see no such key, or may see one key only and so has no choice.
    """
    seen = block.mask
    counts = counts & seen
    applies = counts.any(-1) & (seen.sum(-1) > 1)
    found = np.einsum("hqk,qk->hq", block.attn, counts.astype(block.attn.dtype))
    return np.where(applies, found, np.nan)


def at_offset(block: Block, offset: int) -> np.ndarray:
    """(heads, queries): the weight on the key at one distance; not of cross-attention, whose places are of two texts."""
    return nowhere(block) if is_cross(block) else share(block, offsets(block) == offset)


def is_cross(block: Block) -> bool:
    """Whether queries and keys are of two texts."""
    return block.query_tokens is not block.key_tokens


def nowhere(block: Block) -> np.ndarray:
    """(heads, queries) NaN: the metric does not apply to this kind of attention."""
    return np.full(block.attn.shape[:2], np.nan)


def same_token(block: Block, shift: int) -> np.ndarray:
    """(queries, keys) bool: the token `shift` before the key stands earlier than the query and is the same, and no special one.

    Tokens are the same by id, or by spelling where they have none.
    """
    names, plain = _names(block.query_tokens), ~is_special(block.query_tokens)
    queries = np.arange(block.queries.start, block.queries.stop)
    before = np.arange(block.keys.start, block.keys.stop) - shift
    exists = before >= 0
    before = np.maximum(before, 0)
    same = names[queries][:, None] == names[before][None, :]
    earlier = before[None, :] < queries[:, None]
    found: np.ndarray = same & earlier & exists[None, :] & plain[queries][:, None]
    return found


def _kept(function: Callable[[Tokens], np.ndarray]) -> Callable[[Tokens], np.ndarray]:
    """The function, worked out once for all the blocks of a text."""
    last: list[tuple[Tokens, np.ndarray]] = []

    @wraps(function)
    def kept(tokens: Tokens) -> np.ndarray:
        if not last or last[0][0] is not tokens:
            found = function(tokens)
            found.flags.writeable = False
            last[:] = [(tokens, found)]
        return last[0][1]

    return kept


@_kept
def _names(tokens: Tokens) -> np.ndarray:
    """(tokens,) int, equal for the same token."""
    numbers: dict[str, int] = {}
    return np.array(tokens.ids or [numbers.setdefault(piece, len(numbers)) for piece in tokens.pieces])


def keys_that(block: Block, test: np.ndarray) -> np.ndarray:
    """(queries, keys) bool from one bool for each token of the keys' text."""
    return np.broadcast_to(test[block.keys.start : block.keys.stop], (len(block.queries), len(block.keys)))


@_kept
def is_special(tokens: Tokens) -> np.ndarray:
    """(tokens,) bool: [CLS], <s> and the like, whether added or typed."""
    return np.array([kind is not None for kind in tokens.special])


@_kept
def is_punctuation(tokens: Tokens) -> np.ndarray:
    """(tokens,) bool: all characters are punctuation by Unicode (general category P), and it is no special token."""
    return np.array([
        kind is None and bool(text.strip()) and all(unicodedata.category(c)[0] == "P" for c in text.strip())
        for text, kind in zip(tokens.texts, tokens.special, strict=True)
    ])  # fmt: skip


def bits(block: Block) -> np.ndarray:
    """(heads, queries): entropy of the rows in bits, each taken as a distribution; NaN where a row is all zero.

    Rows sum to less than one where the model has attention sinks: H(p / s) = H(p) / s + log2 s.
    """
    total = block.attn.sum(-1)
    held = np.where(total > 0, total, np.nan)
    found: np.ndarray = np.maximum(block.entropy / held + np.log2(held), 0)
    return np.array(np.minimum(found, np.log2(np.maximum(block.mask.sum(-1), 1))))
