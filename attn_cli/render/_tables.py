"""Tables of text and numbers: columns as wide as they need; where the target is too narrow, names break into lines."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from attn_cli.report import Column, Label, Table

from ._glyphs import UNICODE, Glyphs, bar
from ._lines import Block, Line, Run, flow, left, right, trimmed
from ._lines import cells as count
from ._names import UNKNOWN
from ._text import clip, fit, label, visible, width

_GAP = "  "
_BAR = 8  # cells of a bar that stands for 1
_LEAST = 12  # cells that a column which gives way keeps
_TOKEN = 16  # cells that a token's name may take
_CLIPPED = 7  # cells that a column of cut names keeps
_LEAST_BAR, _MOST_BAR = 4, 24  # cells of a column of bars
_LEFT = ("text", "flag", "token", "bar")


def table(table: Table, size: int, encoding: str | None = None, glyphs: Glyphs = UNICODE) -> Block:
    """The table in lines of at most `size` cells, where its columns can give way that far; its title above, its note below.

    Where they cannot, it comes in bands of columns, each of which begins with the first column again.
    """
    shown = table.rows[: table.limit]
    for spare, least in ((True, _TOKEN), (False, _CLIPPED)):
        at = [i for i, column in enumerate(table.columns) if column.pictured and (spare or not column.spare)]
        columns = [table.columns[i] for i in at]
        cells = [[_text(row[i], table.columns[i], encoding, glyphs) for i in at] for row in shown]
        titles = [visible(column.title, encoding) for column in columns]
        widths = _widths(columns, [titles, *cells], size, least)
        if sum(widths) + len(_GAP) * (len(widths) - 1) <= size:
            break
    bars = {i: _bars(table, at[i], widths[i], glyphs) for i, column in enumerate(columns) if column.kind == "bar"}
    bars |= {i: [_beside(row[at[i]], c, encoding, glyphs) for row in shown] for i, c in enumerate(columns) if c.bar}
    first_total = len(shown) - table.totals
    lines = flow([[Run(visible(table.title, encoding), "bold")]], size) if table.title else []
    for n, band in enumerate(_bands(widths, size)):
        lines += [[]] if n else []
        of_band = [columns[i] for i in band], [widths[i] for i in band]
        if any(titles):
            lines += _row([titles[i] for i in band], *of_band, glyphs, "dim")
        for number, row in enumerate(cells):
            if number == first_total:
                lines.append([Run(glyphs.line * (sum(of_band[1]) + len(_GAP) * (len(band) - 1)), "faint")])
            drawn = {place: bars[i][number] for place, i in enumerate(band) if i in bars}
            lines += _row([row[i] for i in band], *of_band, glyphs, "bold" if number >= first_total else "", drawn)
    if len(shown) < len(table.rows):
        lines += flow([[Run(f"{len(shown)} of {len(table.rows)} rows shown; more: --top, all: --json", "dim")]], size)
    if table.left_out:
        lines += flow([[Run(visible(table.left_out, encoding), "dim")]], size)
    if table.note:
        lines += flow([[Run(visible(table.note, encoding), "dim")]], size)
    return lines


def _bands(widths: Sequence[int], size: int) -> list[list[int]]:
    """The columns in bands of at most `size` cells; the first column heads every band."""
    bands: list[list[int]] = [[]]
    for i, wide in enumerate(widths):
        taken = sum(widths[j] + len(_GAP) for j in bands[-1])
        if len(bands[-1]) > 1 and taken + wide > size:
            bands.append([0])
        bands[-1].append(i)
    return bands


def _text(value: Any, column: Column, encoding: str | None, glyphs: Glyphs) -> str:
    """One value as its column writes it, its bar included where it has one."""
    if not column.bar:
        return cell(value, column, encoding)
    return "".join(run.text for run in _beside(value, column, encoding, glyphs))


def _beside(value: Any, column: Column, encoding: str | None, glyphs: Glyphs) -> Line:
    """A number of 0 to 1 and its bar, of which all in the table have the same scale."""
    text = cell(value, column, encoding)
    if not text:
        return []
    return [Run(right(text, _whole(column)) + " "), Run(bar(float(value), _BAR, _BAR, glyphs), "bar", float(value))]


def _whole(column: Column) -> int:
    """Cells of the largest number that has a bar beside it."""
    return len(f"{100 if column.kind == 'percent' else 1:.{column.digits}f}")


def cell(value: Any, column: Column, encoding: str | None = None) -> str:
    """One value as its column writes it; nothing where there is none."""
    if column.kind == "bar" or value is None or value != value:
        return ""
    if isinstance(value, Label):
        at = (UNKNOWN if value.unknown else "") + ("" if value.position is None else f"@{value.position}")
        mark = UNICODE.cut if encoding is None else ".."
        return fit(label(value.text, continues=value.continues, encoding=encoding), _TOKEN - len(at), mark) + at
    if isinstance(value, str):
        return visible(str(value), encoding)
    if column.kind == "flag":
        return "yes" if value else "no"
    if column.kind == "bytes":
        return size_of(value)
    if column.kind == "tiny":
        return f"{value:.{column.digits}e}" if value else "0"
    if column.kind == "count":
        return f"{value:,}"
    if math.isinf(value):
        return ("-" if value < 0 else "") + ("∞" if encoding is None else "inf")
    written = f"{100 * value if column.kind == 'percent' else value:.{column.digits}f}"
    return written if float(written) else written.removeprefix("-")  # no minus before what is written as zero


def size_of(count: int) -> str:
    """A number of bytes in the decimal unit that leaves one to three digits before the point."""
    if count < 1000:
        return f"{count} B"
    amount = float(count)
    for unit in ("kB", "MB", "GB", "TB"):
        amount /= 1000
        if round(amount, 1) < 1000 or unit == "TB":
            break
    return f"{amount:.1f} {unit}"


def _widths(columns: Sequence[Column], rows: Sequence[Sequence[str]], size: int, least: int) -> list[int]:
    """Cells of each column: as many as its longest entry has; those that may wrap or be cut share what is left."""
    drawn_in = [max(width(row[i]) for row in rows) for i in range(len(columns))]
    widths = [
        max(wide, _whole(c) + 1 + _BAR if c.bar and any(row[i] for row in rows[1:]) else 0)
        for i, (wide, c) in enumerate(zip(drawn_in, columns, strict=True))
    ]
    over = sum(widths) + len(_GAP) * (len(widths) - 1) - size
    if over > 0:  # no room for bars longer than any here
        over -= sum(widths) - sum(drawn_in)
        widths = drawn_in
    drawn = [i for i, column in enumerate(columns) if column.kind == "bar"]
    if drawn and -over >= _LEAST_BAR * len(drawn):
        for i in drawn:
            widths[i] = max(widths[i], min(_MOST_BAR, -over // len(drawn)))
    while over > 0:
        giving = [
            i for i, column in enumerate(columns)
            if (column.wraps and widths[i] > _LEAST) or (column.clips and widths[i] > least)
        ]  # fmt: skip
        if not giving:
            break
        widest = max(giving, key=lambda i: widths[i])
        widths[widest] -= 1
        over -= 1
    return widths


def _bars(table: Table, index: int, size: int, glyphs: Glyphs) -> list[Line]:
    """A column's numbers as bars beside one axis, the longest as long as there is room; totals have none."""
    rows = table.rows[: table.limit]
    shown = len(rows) - table.totals
    values = [row[index] if i < shown and row[index] is not None else 0.0 for i, row in enumerate(rows)]
    values = [float(value) if math.isfinite(value) else 0.0 for value in values]
    low, high = max(0.0, -min(values, default=0.0)), max([0.0, *values])
    if size < _LEAST_BAR or not low + high:
        return [[] for _ in values]
    below = 0 if not low else min(size - 2, max(1, round((size - 1) * low / (low + high))))
    above = size - below - (1 if low else 0)
    whole = min(room / most for room, most in ((below, low), (above, high)) if most)  # cells for a value of 1
    lines: list[Line] = []
    for number, value in enumerate(values):
        line: Line = []
        if low and number < shown:
            halves = math.floor(-value * whole * 2 + 0.5) if value < 0 else 0
            minus = (glyphs.half if halves % 2 else "") + glyphs.bars[-1] * (halves // 2)
            line = [Run(" " * (below - len(minus))), Run(minus, "minus"), Run(glyphs.rule, "faint")]
        share = max(0.0, value) / high if high else 0.0
        lines.append([*line, Run(bar(share, math.floor(whole * high), above, glyphs), "bar", share)])
    return lines


def _row(
    row: Sequence[str],
    columns: Sequence[Column],
    widths: Sequence[int],
    glyphs: Glyphs,
    style: str,
    bars: Mapping[int, Line] | None = None,
) -> Block:
    """One row, in as many lines as its tallest cell has."""
    parts = [
        [text] if width(text) <= widths[i]
        else [clip(text, widths[i], glyphs.cut)] if columns[i].clips
        else _broken(text, widths[i])
        for i, text in enumerate(row)
    ]  # fmt: skip
    lines: Block = []
    for n in range(max(len(part) for part in parts)):
        line: Line = []
        for i, part in enumerate(parts):
            text = part[n] if n < len(part) else ""
            if bars and i in bars:
                drawn = bars[i] if n == 0 else []
                line += [Run(_GAP if i else ""), *drawn, Run(" " * (widths[i] - count(drawn)))]
                continue
            to_left = columns[i].bar or columns[i].kind in _LEFT
            padded = left(text, widths[i]) if to_left else right(text, widths[i])
            line.append(Run((_GAP if i else "") + padded, style))
        lines.append(trimmed(line))
    return lines


def _broken(text: str, size: int) -> list[str]:
    """A text in pieces of at most `size` cells: after spaces, else after the points and slashes of a name, else after _ - ,"""
    pieces, rest = [], text
    while width(rest) > size:
        head = fit(rest, size, "") or rest[:1]
        ends = (max(head.rfind(mark) + 1 for mark in marks) for marks in (" ", "./", "_-,"))
        head = head[: next((at for at in ends if at > size // 3), len(head))]
        pieces.append(head.rstrip(" "))
        rest = rest[len(head) :].lstrip(" ")
    return [*pieces, rest] if rest else pieces
