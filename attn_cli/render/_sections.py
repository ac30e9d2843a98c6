"""A section of a text to read: its heading, paragraphs, formulas with their shapes, and tables."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.report import Formula, Prose, Section, Table

from . import Target
from ._glyphs import Glyphs
from ._lines import Block, Line, Run, cells, flow, left
from ._tables import table
from ._text import visible, width

_INDENT = 2
_MEASURE = 88  # cells: longer lines of prose are hard to follow
_STYLES = {"text": "", "aside": "dim", "answer": "bold"}
# how a formula is written where the encoding does not hold its signs
_PLAIN = str.maketrans(
    {
        "√": "sqrt", "Σ": "sum ", "·": ".", "\u00d7": "x", "\u2212": "-", "∞": "inf", "→": "->", "‖": "|", "…": "...",
        "ⱼ": "_j", "ᵢ": "_i", "ₕ": "_h", "₀": "_0", "₁": "_1", "ᵀ": "^T", "≤": "<=", "≈": "~",
        "“": '"', "”": '"', "\u2019": "'", "—": "-", "\u2013": "-",
    }
)  # fmt: skip


def section(part: Section, target: Target, glyphs: Glyphs) -> Block:
    """The section in lines of at most the target's width, an empty line between its parts."""
    block: Block = [_heading(part.title, target, glyphs)] if part.title else []
    indent = _INDENT if part.title else 0
    size = target.width - indent
    for item in part.parts:
        if isinstance(item, Prose):
            drawn = flow([[Run(_written(item.text, target), _STYLES[item.kind])]], min(size, _MEASURE))
        elif isinstance(item, Formula):
            drawn = _formulas(item, size, target)
        else:
            drawn = table(_plain(item, target), size, target.encoding, glyphs)
        block += [[]] if block else []
        block += [[Run(" " * indent), *line] if line else [] for line in drawn]
    return block


def _heading(title: str, target: Target, glyphs: Glyphs) -> Line:
    text = _written(title, target)
    line = [Run(glyphs.line * 2 + " ", "faint"), Run(text, "bold"), Run(" ")]
    return [*line, Run(glyphs.line * max(0, target.width - cells(line)), "faint")]


def _formulas(item: Formula, size: int, target: Target) -> Block:
    """Formulas below one another, their shapes level beside them, or below where the room is short."""
    lines = [(_written(formula, target), _written(shape, target)) for formula, shape in item.lines]
    column = max(width(formula) for formula, _ in lines) + 3
    beside = all(2 + column + width(shape) <= size for _, shape in lines)
    block: Block = []
    for formula, shape in lines:
        if beside:
            block.append([Run("  "), Run(left(formula, column), "bold"), Run(shape, "dim")])
            continue
        block += [[Run("  "), *line] for line in flow([[Run(formula, "bold")]], size - 2)]
        block += [[Run("      "), *line] for line in flow([[Run(shape, "dim")]], size - 6) if shape]
    return block


def _plain(item: Table, target: Target) -> Table:
    """The table with signs in its headings and names that the encoding holds."""
    if target.encoding is None:
        return item
    return replace(
        item,
        title=item.title.translate(_PLAIN),
        note=item.note.translate(_PLAIN),
        columns=tuple(replace(column, title=column.title.translate(_PLAIN)) for column in item.columns),
        rows=tuple(
            tuple(
                value.translate(_PLAIN) if column.kind == "text" and isinstance(value, str) else value
                for value, column in zip(row, item.columns, strict=True)
            )
            for row in item.rows
        ),
    )


def _written(text: str, target: Target) -> str:
    return visible(text if target.encoding is None else text.translate(_PLAIN), target.encoding)
