"""What a command found: frozen data with raw floats and raw text. Commands build it, renderers write it.

Rows are queries (what looks), columns are keys (what is looked at). Nothing here is rounded or escaped. Nobody compares
elements, some of which hold arrays; `eq=False` saves a third of the time that making these classes takes at every start.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np

Special = Literal["added", "typed"]
Positions = int | tuple[int, ...]  # one token, or the tokens merged into one row or column


@dataclass(frozen=True, kw_only=True, eq=False)
class Token:
    """One token of the text as the model reads it; `start` and `end` count code points of the given text."""

    position: int
    id: int | None  # None where the arrays came without a vocabulary
    piece: str  # its spelling in the vocabulary
    text: str  # readable form
    start: int | None = None  # None where the tokenizer added it
    end: int | None = None
    special: Special | None = None
    segment: int = 0
    word: int | None = None  # words count from 0; None for special tokens
    continues: bool = False  # a further piece of the same word as the token before


@dataclass(frozen=True, kw_only=True, eq=False)
class Axis:
    """The rows or the columns of a matrix: token positions, and how each is called."""

    positions: tuple[Positions, ...]
    texts: tuple[str, ...]
    special: tuple[Special | None, ...]
    continues: tuple[bool, ...]
    repeated: tuple[bool, ...]  # the same text stands elsewhere in the sentence: show its position
    unknown: tuple[bool, ...]  # the vocabulary does not hold this text
    sides: tuple[tuple[str, str] | None, ...] = ()  # of two texts compared: what each has here, where they differ

    def __len__(self) -> int:
        return len(self.positions)


@dataclass(frozen=True, kw_only=True, eq=False)
class Top:
    """The strongest keys of one query: `keys` are (index into the key axis, weight), strongest first."""

    query: int  # index into the query axis
    keys: tuple[tuple[int, float], ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Pooled:
    """Cells that stand for blocks of so many queries and keys: the mean or the largest of what may be seen there."""

    queries: int
    keys: int
    how: Literal["mean", "max"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Head:
    """One head's weights over the chosen queries and keys."""

    kind: str  # self encoder decoder cross
    layer: int | None  # None where this is about several layers
    head: int | None  # None where this is about several heads
    queries: Axis
    keys: Axis
    attn: np.ndarray | None  # (queries, keys) float; NaN = not applicable; None where only `top` was asked for
    visible: np.ndarray | None  # (queries, keys) bool: the mask lets this query see this key; None = all of them
    held: np.ndarray | None = None  # (queries,) weight on hidden tokens
    top: tuple[Top, ...] = ()
    folded: str = ""  # of which heads and layers this is, where it is not one head
    role: str | None = None  # what the model card says this head does
    text: int = 0  # index of the text, with --lines
    pooled: Pooled | None = None  # where a row or column stands for several queries or keys


@dataclass(frozen=True, kw_only=True, eq=False)
class Column:
    """One column of a table: `name` is its key in JSON, `title` its heading in a picture."""

    name: str
    title: str
    # how a picture writes the raw values; a token is a Label, a bar a number drawn beside the others of its column
    kind: Literal["text", "count", "number", "tiny", "percent", "bytes", "flag", "token", "bar"] = "text"
    digits: int = 1  # after the point, of a number or percentage
    wraps: bool = False  # gives way where the picture is too narrow: broken into lines, never cut
    clips: bool = False  # gives way by being cut, which is marked
    spare: bool = False  # left out where the picture is too narrow for all columns
    bar: bool = False  # a number of 0 to 1 has a bar beside it
    pictured: bool = True  # False: only in the formats for programs


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """Rows of raw values under named columns; None where a row has no such value.

    `name` is its key in JSON; a table without one is for pictures only.
    """

    name: str
    title: str = ""
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    note: str = ""  # one line below it
    totals: int = 0  # so many of the last rows say what the others come to
    pictured: bool = True  # False: only in the formats for programs
    limit: int | None = None  # how many rows a picture has
    left_out: str = ""  # one line on rows that stand only in the table for programs


@dataclass(frozen=True, kw_only=True, eq=False)
class Label:
    """A token in a table; `position` only where it takes that to tell it from another."""

    text: str
    position: int | None = None
    continues: bool = False
    unknown: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Prose:
    """A paragraph. `aside` may be read or not; `answer` is what the reader came for."""

    text: str
    kind: Literal["text", "aside", "answer"] = "text"


@dataclass(frozen=True, kw_only=True, eq=False)
class Formula:
    """Formulas in Unicode, each with the shapes of what stands in it."""

    lines: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Section:
    """A part of a text that is read from its start to its end; pictures only, programs find the numbers in `fields`."""

    title: str = ""
    parts: tuple[Prose | Formula | Table, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class HeadMap:
    """One cell for each head of a model, rows being layers: for the picture only, its numbers stand in a table."""

    title: str
    layers: tuple[int, ...]
    heads: tuple[int, ...]
    values: np.ndarray  # (layers, heads) float; NaN = nothing to say of this head
    low: float = 0.0  # the ends of the colour scale
    high: float = 1.0
    kind: Literal["percent", "number"] = "percent"  # how a cell writes its value
    codes: tuple[tuple[str, ...], ...] | None = None  # (layers, heads): at most two letters in place of the number
    faint: str = ""  # the code that is so common that it is drawn faint and without its value
    notes: tuple[str, ...] = ()  # what the codes and numbers are


@dataclass(frozen=True, kw_only=True, eq=False)
class Difference:
    """One head's weights in the second less those in the first, over rows and columns that both have: -1 to 1."""

    kind: str
    layer: int
    head: int
    queries: Axis
    keys: Axis
    change: np.ndarray  # (queries, keys) float
    title: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Note:
    """One line for the reader: how things are (`info`), or what may mislead (`warning`)."""

    text: str
    kind: Literal["info", "warning"] = "info"


@dataclass(frozen=True, kw_only=True, eq=False)
class Report:
    """The answer of one command.

    `heads` may be an iterator whose items are computed as they are taken. `model` holds the entries of the JSON
    contract's `model` object in its order; `fields` any further entries of the JSON document.
    """

    schema: str  # "attn-cli.show/1"
    version: str
    text: str | None
    pair: str | None = None
    target: str | None = None
    model: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""  # the model in a few words, for the header
    measure: str = "attention weights after softmax"
    merge: Literal["pieces", "words", "spans"] = "pieces"
    hidden: tuple[int, ...] = ()
    renormalised: bool = False
    tokens: tuple[Token, ...] = ()
    target_tokens: tuple[Token, ...] | None = None
    heads: Iterable[Head] = ()
    view: Literal["matrix", "top", "both", "query"] = "both"  # query: one row per head, for the queries asked for
    every_key: bool = False  # a list too long for its line goes on below; else what fits is drawn
    shown: str = ""  # which heads of how many, and how to see the others
    tables: tuple[Table, ...] = ()
    sections: tuple[Section, ...] = ()  # where there are any, a picture is made of these and draws no heads
    pause: str = ""  # in a terminal, what to say while waiting for a key between sections; "" = no waiting
    maps: tuple[HeadMap, ...] = ()
    differences: tuple[Difference, ...] = ()
    of_text: bool = True  # False: no text was run, so there are no tokens and no heads to speak of
    notes: tuple[Note, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
