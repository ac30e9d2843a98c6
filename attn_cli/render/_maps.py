"""Maps of layers x heads, one cell for each head, and signed differences of two matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from attn_cli.report import Axis, Difference, HeadMap

from . import Target
from ._glyphs import CELL, Glyphs, cell, percent
from ._header import caption
from ._lines import Block, Line, Run, flow, right
from ._names import Name, downwards, names
from ._text import clip, graphemes, visible, width

_TICK = 5  # heads between two numbers above a map of cells too narrow for their own
_SIGNED = 4  # cells of one change
_LABEL = 12
_SCALE = (-1.0, -0.5, -0.25, -0.05, 0.05, 0.25, 0.5, 1.0)  # of the colours in the caption


def head_map(made: HeadMap, target: Target, glyphs: Glyphs) -> Block:
    """The map with its title and note, in bands of heads where the target is narrow; wide maps have cells of one glyph."""
    label = len(f"L{max(made.layers, default=0)}") + 1
    colored = target.color is not None
    grid = [[_cell(made, i, j, glyphs, colored) for j in range(len(made.heads))] for i in range(len(made.layers))]
    size = max((len(run.text) for row in grid for run in row), default=CELL)
    if label + size * len(made.heads) > target.width:
        grid = [[_speck(made, i, j, glyphs, colored) for j in range(len(made.heads))] for i in range(len(made.layers))]
        size = 1
    block: Block = flow([[Run(visible(made.title, target.encoding), "bold")]], target.width)
    per_band = max(1, (target.width - label) // size)
    for start in range(0, len(made.heads), per_band):
        shown = range(start, min(start + per_band, len(made.heads)))
        block.append([Run(" " * label + _numbers([made.heads[j] for j in shown], size), "dim")])
        for i, layer in enumerate(made.layers):
            cells = [run._replace(text=right(run.text, size)) for run in (grid[i][j] for j in shown)]
            block.append([Run(right(f"L{layer}", label - 1) + " ", "dim"), *cells])
    return block + flow([[Run(visible(part, target.encoding), "dim")] for part in made.notes], target.width)


def _numbers(heads: list[int], size: int) -> str:
    """The heads' numbers above their cells; only some of them where a cell is one glyph wide."""
    if size > 1:
        return "".join(right(str(h), size - 1) + " " for h in heads)
    line = ""
    for j, head in enumerate(heads):
        if head % _TICK == 0 and len(line) <= j:
            line = line.ljust(j) + str(head)
    return line


def _place(made: HeadMap, value: float) -> float:
    """Where a value stands on the scale, 0 to 1."""
    if made.high <= made.low:
        return 0.0
    return min(1.0, max(0.0, (value - made.low) / (made.high - made.low)))


def _cell(made: HeadMap, i: int, j: int, glyphs: Glyphs, colored: bool) -> Run:
    value = float(made.values[i, j])
    if made.codes is not None:
        code = made.codes[i][j]
        if not code:
            return Run(f" {glyphs.masked} ", "faint")
        if code == made.faint:
            return Run(f"{code:>2} ", "faint")
        shade = " " if colored else cell(min(value, 0.99), True, glyphs, colored).text[-1:]
        return Run(f"{code:>2}{shade}", "cell", value)
    if made.kind == "percent":
        return Run(f" {glyphs.masked} ", "faint") if math.isnan(value) else cell(value, True, glyphs, colored)
    if math.isnan(value):
        return Run(f"  {glyphs.masked} ", "faint")
    at = _place(made, value)
    text = f"{value:.1f}" if abs(value) < 99.95 else f"{value:.0f}"
    shade = " " if colored else glyphs.shades[min(4, int(at * 5))]
    return Run(f"{text:>3}{shade}", "cell", at * at)  # the ramp takes square roots, which suit weights only


def _speck(made: HeadMap, i: int, j: int, glyphs: Glyphs, colored: bool) -> Run:
    """One glyph for a head: its code's first letter, or a shade."""
    value = float(made.values[i, j])
    if math.isnan(value) or (made.codes is not None and not made.codes[i][j]):
        return Run(glyphs.masked, "faint")
    at = _place(made, value)
    weight = value if made.kind == "percent" else at * at
    if made.codes is not None:
        code = made.codes[i][j]
        return Run(code[:1], "faint" if code == made.faint else "cell", weight)
    return Run(" ", "cell", weight) if colored else Run(glyphs.shades[min(4, int(math.sqrt(weight) * 5))])


def differences(made: Sequence[Difference], target: Target, glyphs: Glyphs) -> Block:
    """The signed difference of each head, and one caption for all."""
    block: Block = []
    for change in made:
        block += [[], *_difference(change, target, glyphs)]
    said = [
        "rows are queries (what looks), columns are keys (what is looked at)",
        "numbers are percentage points: second minus first",
        f"{glyphs.masked} less than half a point",
    ]
    if any(side for change in made for axis in (change.queries, change.keys) for side in axis.sides):
        said.append("a/b: a in the first, b in the second, + or - where it has none")
    block += [[], *caption(said, target)]
    if target.color is None:
        return block
    swatches = [_signed(change, glyphs) for change in _SCALE]
    return [*block, *flow([swatches, [Run("colour by square root", "dim")]], target.width, gap=" " * CELL)]


def _difference(made: Difference, target: Target, glyphs: Glyphs) -> Block:
    """Signed percentage points, rows being queries; of columns that do not fit those with the largest changes stay."""
    rows, columns = names(made.queries, target.encoding), names(made.keys, target.encoding)
    label = min(_LABEL, max((name.width for name in rows), default=1))
    room = max(1, (target.width - label - 1) // _SIGNED)
    chosen = list(range(len(columns)))
    if len(chosen) > room:
        largest = np.argsort(-np.abs(np.nan_to_num(made.change)).max(0), kind="stable")[:room]
        chosen = sorted(int(j) for j in largest)
    kind = "" if made.kind == "self" else f"{made.kind} "
    title = visible(kind + (made.title or f"L{made.layer}.H{made.head}"), target.encoding)
    block: Block = [[Run(title, "bold"), Run("  second minus first", "dim")]]
    for heading in _headings(made.keys, columns, chosen, target, glyphs):
        block.append([Run(" " * (label + 1)), *(Run(text, "dim") for text in heading)])
    for i, name in enumerate(rows):
        text = clip(name.text, label - len(name.end), glyphs.cut) + name.end
        line: Line = [Run(right(text, label) + " ")]
        block.append([*line, *(_signed(float(made.change[i, j]), glyphs) for j in chosen)])
    if len(chosen) < len(columns):
        said = f"{len(chosen)} of {len(columns)} columns shown, those with the largest changes; all: --json"
        block += flow([[Run(said, "dim")]], target.width)
    return block


def _headings(
    axis: Axis, columns: Sequence[Name], chosen: Sequence[int], target: Target, glyphs: Glyphs
) -> list[list[str]]:
    """The columns' names downwards, the two halves of a name side by side where their letters are narrow."""
    halves: dict[int, list[str]] = {}
    for j in chosen:
        both = [visible(text, target.encoding) for text in (axis.sides[j] if axis.sides else None) or ()]
        if both and all(width(piece) == 1 for piece in graphemes("".join(both))):
            halves[j] = both
    first = [(halves[j][0] if j in halves else "", "") for j in chosen]
    second = [(halves[j][1], "") if j in halves else (columns[j].text, columns[j].end) for j in chosen]
    n = len(chosen)
    return [
        [_two(a, b) for a, b in zip(line[:n], line[n:], strict=True)]
        for line in downwards([*first, *second], _SIGNED // 2, glyphs)
    ]


def _two(a: str, b: str) -> str:
    """A letter of each half of a name, each in two cells, a slash between them."""
    half = _SIGNED // 2
    return right(a, half) + ("/" + b if a and b else right(b, half))


def _signed(change: float, glyphs: Glyphs) -> Run:
    """A change in percentage points with its sign; its size is the colour behind it."""
    text = percent(abs(change))
    if text == "0" or math.isnan(change):
        return Run(right(glyphs.masked if text == "0" else text, _SIGNED), "faint")
    sign, style = ("+", "cell") if change > 0 else ("-", "less")
    return Run(right(sign + text, _SIGNED), style, abs(change))
