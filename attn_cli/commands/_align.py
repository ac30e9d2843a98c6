"""Which tokens of two texts belong together."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from attn_cli.errors import UsageError, quote
from attn_cli.model import views

if TYPE_CHECKING:
    from attn_cli.tokens import Tokens

Start = tuple[int, int]  # in which of the two texts of a pair, and where
Key = tuple[int, str, int]  # a stretch of the text, or after it a piece that was added, and as which one


@dataclass(frozen=True)
class Pair:
    """Tokens of the one text and of the other that stand in the same place; one side is empty where the other added tokens."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    same: bool

    @property
    def both(self) -> bool:
        """Whether both texts have something here."""
        return bool(self.before and self.after)


def align(before: Tokens, after: Tokens) -> tuple[Pair, ...]:
    """The two texts side by side, by the shortest difference; stretches of different length are taken as one token each."""
    one, two = (
        [(t.texts[i] if t.unknown[i] else t.pieces[i], t.special[i] is not None) for i in range(len(t))]
        for t in (before, after)
    )
    pairs: list[Pair] = []
    for kind, a, b, c, d in SequenceMatcher(None, one, two, autojunk=False).get_opcodes():
        if kind == "equal" or b - a == d - c:
            pairs += [Pair((i,), (j,), kind == "equal") for i, j in zip(range(a, b), range(c, d), strict=True)]
        else:
            pairs.append(Pair(tuple(range(a, b)), tuple(range(c, d)), False))
    return tuple(pairs)


def by_words(before: Tokens, after: Tokens) -> tuple[Pair, ...]:
    """One text as two tokenizers cut it: the smallest stretches that begin where a word of both begins.

    So what only one of them reads belongs to the word before it. Added tokens are paired where both add the same.
    """
    sides = (before, after)
    starts = [_starts(tokens) for tokens in sides]
    shared = sorted({at for at in starts[0] if at is not None} & set(starts[1]))
    _check(sides, starts, shared)
    (keys, own), (other_keys, others) = (_stretches(t, at, shared) for t, at in zip(sides, starts, strict=True))
    pairs: list[Pair] = []
    for kind, a, b, c, d in SequenceMatcher(None, keys, other_keys, autojunk=False).get_opcodes():
        if kind == "equal":
            for x, y in zip(own[a:b], others[c:d], strict=True):
                read = [any(t.special[i] or t.unknown[i] for i in place) for t, place in ((before, x), (after, y))]
                pairs.append(Pair(x, y, read[0] == read[1]))  # a word that one side does not know is not the same
        else:
            pairs += [*(Pair(x, (), False) for x in own[a:b]), *(Pair((), y, False) for y in others[c:d])]
    return tuple(pairs)


def _starts(tokens: Tokens) -> list[Start | None]:
    """Where the word of each token begins; None for added tokens. Space belongs to the word after it."""
    starts: list[Start | None] = [None] * len(tokens)
    after: Start | None = None
    for group in reversed(views.word_groups(tokens)):
        first, last = tokens.spans[group[0]], tokens.spans[group[-1]]
        if first is None or last is None:
            after = None
            continue
        segment = tokens.segments[group[0]]
        text = _text(tokens, segment)[first[0] : last[1]].lstrip()
        if text or after is None or after[0] != segment:
            after = (segment, last[1] - len(text))
        for i in group:
            starts[i] = after
    first_of = {at[0]: at for at in reversed(starts) if at is not None}  # counts from the start of its text
    return [(at[0], 0) if at is not None and at == first_of[at[0]] else at for at in starts]


def _check(sides: Sequence[Tokens], starts: Sequence[Sequence[Start | None]], shared: Sequence[Start]) -> None:
    """Refuses a text of several words that the two sides begin at no place in common but the first."""
    for segment in (0, 1):
        text = _text(sides[0], segment)
        words = [{at for at in of if at is not None and at[0] == segment and text[at[1] :].strip()} for of in starts]
        if sum(segment == of for of, _ in shared) < min(2, max(map(len, words))):
            raise UsageError(
                f"the two models part {quote(text)} at no place in common",
                "compare models whose tokenizers are closer, or put spaces into the text",
            )


def _stretches(
    tokens: Tokens, starts: Sequence[Start | None], shared: Sequence[Start]
) -> tuple[list[Key], list[tuple[int, ...]]]:
    """The tokens from one shared start to the next, and each added token; the keys are equal where both sides have them."""
    keys: list[Key] = []
    place, added = -1, 0  # the stretch that was last, and how many tokens were added since
    for piece, at in zip(tokens.pieces, starts, strict=True):
        if at is None:
            added += 1
            keys.append((place, piece, added))
        else:
            place, added = bisect_right(shared, at) - 1, 0
            keys.append((place, "", 0))
    groups = [tuple(i for i, _ in run) for _, run in groupby(enumerate(keys), key=lambda at: at[1])]
    return [keys[group[0]] for group in groups], groups


def _text(tokens: Tokens, segment: int) -> str:
    return (tokens.pair if segment else tokens.text) or ""


def gather(attn: np.ndarray, sides: Sequence[tuple[int, ...]], rows: Sequence[tuple[int, ...]]) -> np.ndarray:
    """(heads, rows, keys) over aligned places: keys of a place are summed, queries averaged; an empty place holds nothing."""
    keys = np.zeros((attn.shape[-1], len(sides)), attn.dtype)
    for j, place in enumerate(sides):
        keys[list(place), j] = 1
    queries = np.zeros((len(rows), attn.shape[-2]), attn.dtype)
    for i, place in enumerate(rows):
        queries[i, list(place)] = 1 / max(1, len(place))
    return np.asarray(queries @ attn @ keys)
