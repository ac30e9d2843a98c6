"""What the caption says of marks and heads' roles that a picture has no room to explain where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from attn_cli.report import Head, Label, Report

from . import Target
from ._lines import Block
from ._names import TYPED, UNKNOWN, head_name
from ._text import label, visible

_CONTINUES = "~"
_BLANKS = {" ": "a space", "\n": "a line break", "\t": "a tab", "\r": "a carriage return"}
_PART = re.compile(r"\[\d+/\d+\]")


class _Named(NamedTuple):
    """A token that a picture may name."""

    text: str
    continues: bool
    typed: bool
    unknown: bool


def marks(report: Report, heads: Sequence[Head], picture: Block, target: Target) -> list[str]:
    """What each mark on the names in a picture means; nothing for marks that are not drawn."""
    tokens = list(_tokens(report, heads))
    drawn = set().union(*(run.text for line in picture for run in line))
    found = {}
    if any(token.continues for token in tokens):
        found[_CONTINUES] = "goes on with the word before"
    for blank, what in _BLANKS.items():
        mark = visible(blank, target.encoding)
        if any(blank in token.text and mark in label(token.text, encoding=target.encoding) for token in tokens):
            found[mark] = what
    part = next((match[0] for token in tokens if (match := _PART.search(token.text))), None)
    if part:
        found[part] = "part of a character"
    if any(token.typed for token in tokens):
        found[TYPED] = "special token typed in the text, not added"
    if any(token.unknown for token in tokens):
        found[UNKNOWN] = "after a word: not in the vocabulary"
    return [f"{mark} {what}" for mark, what in found.items() if drawn.issuperset(mark)]


def roles(heads: Sequence[Head], target: Target, *, titled: bool) -> list[str]:
    """What the model's card says that heads do, each role with all its heads; `titled`: their titles have it already."""
    if titled:
        return ["after a head's name: what the model card says of it"] if any(head.role for head in heads) else []
    found: dict[str, dict[str, None]] = {}
    for head in heads:
        if head.role:
            found.setdefault(visible(head.role, target.encoding), {})[head_name(head)] = None
    return [f"{', '.join(names)}: {role} (model card)" for role, names in found.items()]


def _tokens(report: Report, heads: Sequence[Head]) -> Iterator[_Named]:
    pairs = [(part.queries, part.keys) for part in heads] + [(part.queries, part.keys) for part in report.differences]
    axes = {id(axis): axis for pair in pairs for axis in pair}  # heads of one layer share theirs
    for axis in axes.values():
        for text, continues, special, unknown in zip(
            axis.texts, axis.continues, axis.special, axis.unknown, strict=True
        ):
            yield _Named(text, continues, special == "typed", unknown)
    for table in report.tables:
        for row in table.rows[: table.limit] if table.pictured else ():
            yield from (_Named(v.text, v.continues, False, v.unknown) for v in row if isinstance(v, Label))
