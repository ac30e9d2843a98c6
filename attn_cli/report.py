"""What a command found: frozen data with raw floats and raw text. Commands build it, renderers write it.

Rows are queries (what looks), columns are keys (what is looked at). Nothing here is rounded or escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np

Special = Literal["added", "typed"]
Positions = int | tuple[int, ...]  # one token, or the tokens merged into one row or column


@dataclass(frozen=True, kw_only=True)
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


@dataclass(frozen=True, kw_only=True)
class Axis:
    """The rows or the columns of a matrix: token positions, and how each is called."""

    positions: tuple[Positions, ...]
    texts: tuple[str, ...]
    special: tuple[Special | None, ...]
    continues: tuple[bool, ...]
    repeated: tuple[bool, ...]  # the same text stands elsewhere in the sentence: show its position

    def __len__(self) -> int:
        return len(self.positions)


@dataclass(frozen=True, kw_only=True)
class Top:
    """The strongest keys of one query: `keys` are (index into the key axis, weight), strongest first."""

    query: int  # index into the query axis
    keys: tuple[tuple[int, float], ...]


@dataclass(frozen=True, kw_only=True)
class Head:
    """One head's weights over the chosen queries and keys."""

    kind: str  # self encoder decoder cross
    layer: int
    head: int
    queries: Axis
    keys: Axis
    attn: np.ndarray | None  # (queries, keys) float; NaN = not applicable; None where only `top` was asked for
    visible: np.ndarray | None  # (queries, keys) bool: the mask lets this query see this key; None = all of them
    held: np.ndarray | None = None  # (queries,) weight on hidden tokens
    top: tuple[Top, ...] = ()
    role: str | None = None  # what the model card says this head does
    text: int = 0  # index of the text, with --lines


@dataclass(frozen=True, kw_only=True)
class Note:
    """One line for the reader: how things are (`info`), or what may mislead (`warning`)."""

    text: str
    kind: Literal["info", "warning"] = "info"


@dataclass(frozen=True, kw_only=True)
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
    shown: str = ""  # which heads of how many, and how to see the others
    notes: tuple[Note, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
