"""One head's matrix: token labels written downwards over three-cell columns, a row per query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from attn_cli.report import Head

from ._glyphs import CELL, Glyphs, cell, percent
from ._lines import Block, Line, Run, right
from ._names import Name, downwards
from ._text import width

MAX_ROWS = 40
HELD = "hidden"


class Grid(NamedTuple):
    """What all matrices of one group share: the rows and columns drawn, and how they are called."""

    rows: int
    columns: tuple[int, ...]
    n_columns: int
    row_names: list[Name]
    column_names: list[Name]
    label: int  # cells of a row's label
    placed: bool  # repeated rows carry their position; else only where there is room
    held: bool

    @property
    def width(self) -> int:
        gaps = sum(self.gaps())
        return self.label + 1 + CELL * len(self.columns) + gaps + (CELL + 1 if self.held else 0)

    @property
    def complete(self) -> bool:
        return len(self.columns) == self.n_columns

    @property
    def ruled(self) -> bool:
        """Whether gaps are marked by a line; with a gap beside most columns the lines would drown the numbers."""
        return 2 * sum(self.gaps()) <= len(self.columns)

    def gaps(self) -> list[bool]:
        """Where columns are left out: before each column drawn, and after the last."""
        before = [-1, *self.columns]
        after = [*self.columns, self.n_columns]
        return [b - a > 1 for a, b in zip(before, after, strict=True)]


def grid(heads: Sequence[Head], width_: int, row_names: list[Name], column_names: list[Name]) -> Grid:
    """The grid of a group of heads: all columns where they fit, else those with the most weight."""
    first = heads[0]
    rows = min(len(first.queries), MAX_ROWS)
    shown = row_names[:rows]
    most = max(4, min(14, width_ // 4))
    label = min(most, max((_unplaced(name).width for name in shown), default=1))
    most = max(most, max((len(name.end) for name in shown), default=0) + 2)  # a letter of the label and what is cut
    placed = min(most, max((name.width for name in shown), default=1))
    held = any(head.held is not None for head in heads)
    total = len(first.keys)

    def of(columns: tuple[int, ...], label: int = placed, placed: bool = True) -> Grid:
        return Grid(rows, columns, total, row_names, column_names, label, placed, held)

    every = tuple(range(total))
    for whole in (of(every), of(every, label, False)):  # a position is not worth a column
        if whole.width <= width_:
            return whole
    order = np.argsort(-_column_weight(heads, rows), kind="stable")
    for count in range(min(total - 1, width_ // CELL), 1, -1):
        chosen = of(tuple(sorted(int(column) for column in order[:count])))
        if chosen.width <= width_:
            return chosen
    return of((int(order[0]),))


def _unplaced(name: Name) -> Name:
    return name._replace(at="")


def matrix(head: Head, grid: Grid, glyphs: Glyphs, colored: bool) -> Block:
    """The column labels and a line per query, every one `grid.width` cells wide."""
    return [*_labels(grid, glyphs), *(_row(head, i, grid, glyphs, colored) for i in range(grid.rows))]


def _labels(grid: Grid, glyphs: Glyphs) -> Block:
    texts = [(name.text, name.mark) for name in (grid.column_names[column] for column in grid.columns)]
    if grid.held:
        texts.append((HELD, ""))
    lines: Block = []
    for pieces in downwards(texts, CELL - 1, glyphs):
        placed = [(" " + piece if width(piece) < CELL - 1 else piece) for piece in pieces]
        cells = [part + " " * (CELL - width(part)) for part in placed]
        line: Line = [Run(" " * (grid.label + 1))]
        for gap, text in zip(grid.gaps(), [*cells[: len(grid.columns)], ""], strict=True):
            line.append(Run((" " if gap else "") + text, "dim"))
        if grid.held:
            line.append(Run(" " + cells[-1], "dim"))
        lines.append(line)
    return lines


def _row(head: Head, i: int, grid: Grid, glyphs: Glyphs, colored: bool) -> Line:
    attn = head.attn if head.attn is not None else np.empty((0, 0))
    name = grid.row_names[i]
    if not grid.placed and name.width > grid.label:
        name = _unplaced(name)
    line: Line = [Run(right(name.within(grid.label, glyphs), grid.label) + " ")]
    gaps = grid.gaps()
    between = Run(glyphs.gap if grid.ruled else " ", "faint")
    for gap, column in zip(gaps, grid.columns, strict=False):
        if gap:
            line.append(between)
        seen = head.visible is None or bool(head.visible[i, column])
        line.append(cell(float(attn[i, column]), seen, glyphs, colored))
    if gaps[-1]:
        line.append(between)
    if grid.held:
        line.append(Run(" "))
        held = head.held
        number = "" if held is None else percent(float(held[i]))
        line.append(Run(f"{number:>2}".ljust(CELL), "dim"))
    return line


def _column_weight(heads: Sequence[Head], rows: int) -> np.ndarray:  # (keys,)
    total = np.zeros(len(heads[0].keys))
    for head in heads:
        if head.attn is not None:
            seen = head.attn[:rows] if head.visible is None else np.where(head.visible[:rows], head.attn[:rows], 0)
            total += np.nansum(seen, axis=0, dtype=np.float64)
    return total
