"""How the tokens of an axis are called: short in a matrix, in a list with the position where they repeat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from attn_cli.report import Axis, Head, Positions

from ._glyphs import Glyphs
from ._text import fit, graphemes, label, width

MAX_DOWN = 8  # lines of a label written downwards
UNKNOWN = "?"  # after a text that the vocabulary does not hold
TYPED = "*"  # after a special token that stands in the text; those that the tokenizer adds have none


class Name(NamedTuple):
    """A token's label, `@position` where it needs one to be told apart, and the mark of a typed or an unknown token."""

    text: str
    at: str
    position: int
    mark: str = ""

    @property
    def end(self) -> str:
        """What follows the label and is never cut."""
        return self.mark + self.at

    def within(self, cells: int, glyphs: Glyphs) -> str:
        """The name in at most `cells`; its end is never cut."""
        return fit(self.text, cells - len(self.end), glyphs.cut) + self.end

    @property
    def width(self) -> int:
        return width(self.text) + len(self.end)


def names(axis: Axis, encoding: str | None) -> list[Name]:
    """The names of an axis, in its order."""
    found = []
    for positions, text, special, continues, repeated, unknown in zip(
        axis.positions, axis.texts, axis.special, axis.continues, axis.repeated, axis.unknown, strict=True
    ):
        first = first_position(positions)
        shown = label(text, continues=continues, encoding=encoding)
        mark = TYPED if special == "typed" else UNKNOWN if unknown else ""
        found.append(Name(shown, f"@{first}" if repeated else "", first, mark))
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


def downwards(texts: Sequence[tuple[str, str]], size: int, glyphs: Glyphs) -> list[list[str]]:
    """Labels from top to bottom, level at the bottom: per line a piece of each, of at most `size` cells.

    A label is a text, which may be cut, and its end, which is not.
    """
    columns = []
    for text, end in texts:
        pieces = graphemes(text)
        if len(pieces) + len(end) > MAX_DOWN:
            pieces = [*pieces[: max(1, MAX_DOWN - 1 - len(end))], glyphs.cut_down]
        columns.append([piece if width(piece) <= size else glyphs.cut_down for piece in [*pieces, *end]])
    height = max((len(column) for column in columns), default=0)
    filled = [[""] * (height - len(column)) + column for column in columns]
    return [[column[i] for column in filled] for i in range(height)]
