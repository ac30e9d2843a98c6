"""Which tokens of two texts belong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

import numpy as np

from attn_cli.model import views

if TYPE_CHECKING:
    from attn_cli.tokens import Tokens


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
    one, two = (list(zip(t.pieces, (s is not None for s in t.special), strict=True)) for t in (before, after))
    pairs: list[Pair] = []
    for kind, a, b, c, d in SequenceMatcher(None, one, two, autojunk=False).get_opcodes():
        if kind == "equal" or b - a == d - c:
            pairs += [Pair((i,), (j,), kind == "equal") for i, j in zip(range(a, b), range(c, d), strict=True)]
        else:
            pairs.append(Pair(tuple(range(a, b)), tuple(range(c, d)), False))
    return tuple(pairs)


def by_words(before: Tokens, after: Tokens) -> tuple[Pair, ...] | None:
    """The words of one text as two tokenizers cut it; None where they do not find the same words.

    Special tokens that only one of them adds stand alone.
    """
    (own, own_special), (other, other_special) = _words(before), _words(after)
    places = [[_span(t, g) for g in groups] for t, groups in ((before, own), (after, other))]
    if places[0] != places[1]:
        return None
    lone = [Pair(g, (), False) for g in own_special] + [Pair((), g, False) for g in other_special]
    return (*lone, *(Pair(a, b, True) for a, b in zip(own, other, strict=True)))


def _words(tokens: Tokens) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """The words, and the special tokens, as groups of positions."""
    words: list[tuple[int, ...]] = []
    special: list[tuple[int, ...]] = []
    space: tuple[int, ...] = ()  # tokens of nothing but space belong to the word after them
    for group in views.word_groups(tokens):
        start, end, _ = _span(tokens, group)
        if tokens.special[group[0]] is not None:
            special.append(group)
        elif end <= start:
            space += group
        else:
            words.append(space + group)
            space = ()
    return words, [*special, space] if space else special


def _span(tokens: Tokens, group: Sequence[int]) -> tuple[int, int, int]:
    """Where a word stands in its text, the space around it left out."""
    first, last = tokens.spans[group[0]], tokens.spans[group[-1]]
    segment = tokens.segments[group[0]]
    if first is None or last is None:
        return -1, -1, segment
    text = (tokens.pair if segment else tokens.text) or ""
    word = text[first[0] : last[1]]
    if not word.strip():
        return last[1], last[1], segment
    return first[0] + len(word) - len(word.lstrip()), last[1] - len(word) + len(word.rstrip()), segment


def gather(attn: np.ndarray, sides: Sequence[tuple[int, ...]], rows: Sequence[tuple[int, ...]]) -> np.ndarray:
    """(heads, rows, keys) over aligned places: keys of a place are summed, queries averaged; an empty place holds nothing."""
    keys = np.zeros((attn.shape[-1], len(sides)), attn.dtype)
    for j, place in enumerate(sides):
        keys[list(place), j] = 1
    queries = np.zeros((len(rows), attn.shape[-2]), attn.dtype)
    for i, place in enumerate(rows):
        queries[i, list(place)] = 1 / max(1, len(place))
    return np.asarray(queries @ attn @ keys)
