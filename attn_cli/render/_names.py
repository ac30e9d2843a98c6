"""How the tokens of an axis are called: short in a matrix, in a list with the position where they repeat."""

from __future__ import annotations

from typing import NamedTuple

from attn_cli.report import Axis, Head, Positions

from ._glyphs import Glyphs
from ._text import fit, graphemes, label, width

MAX_DOWN = 8  # lines of a label written downwards


class Name(NamedTuple):
    """A token's label, and `@position` where it needs one to be told apart."""

    text: str
    at: str
    position: int

    def within(self, cells: int, glyphs: Glyphs) -> str:
        """The name in at most `cells`; its position is never cut."""
        return fit(self.text, cells - width(self.at), glyphs.cut) + self.at

    @property
    def width(self) -> int:
        return width(self.text) + len(self.at)


def names(axis: Axis, encoding: str | None) -> list[Name]:
    """The names of an axis, in its order."""
    found = []
    for positions, text, continues, repeated in zip(
        axis.positions, axis.texts, axis.continues, axis.repeated, strict=True
    ):
        first = first_position(positions)
        shown = label(text, continues=continues, encoding=encoding)
        found.append(Name(shown, f"@{first}" if repeated else "", first))
    return found


def first_position(positions: Positions) -> int:
    """The position by which a token, or several merged ones, are called."""
    if isinstance(positions, int):
        return positions
    return positions[0] if positions else 0


def head_name(head: Head) -> str:
    """`L3.H1`, after the kind of attention where it is not a plain self-attention."""
    name = head.folded or f"L{head.layer}.H{head.head}"
    return name if head.kind == "self" else f"{head.kind} {name}"


def downwards(texts: list[str], size: int, glyphs: Glyphs) -> list[list[str]]:
    """Labels from top to bottom, level at the bottom: per line a piece of each, of at most `size` cells."""
    columns = []
    for text in texts:
        pieces = graphemes(text)
        if len(pieces) > MAX_DOWN:
            pieces = [*pieces[: MAX_DOWN - 1], glyphs.cut_down]
        columns.append([piece if width(piece) <= size else glyphs.cut_down for piece in pieces])
    height = max((len(column) for column in columns), default=0)
    filled = [[""] * (height - len(column)) + column for column in columns]
    return [[column[i] for column in filled] for i in range(height)]
