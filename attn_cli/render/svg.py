"""The picture of the terminal as one SVG file that loads nothing: the table's own lines, in a dark window."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import replace
from unicodedata import bidirectional

from attn_cli.report import Report

from . import Target
from ._glyphs import UNICODE
from ._lines import Line, Run, cells
from ._text import graphemes, visible, width
from ._theme import INK, RGB, bar_place, ink_on, place, ramp
from .table import lines

SUFFIXES = (".svg",)
BINARY = False

_CELL, _LINE, _SIZE = 8.4, 18, 14  # pixels: a terminal cell, a line, the letters
_EDGE, _BAR, _TITLE = 20, 4, 36  # pixels: the margin, above and below a bar, the window's top
_NARROW, _WIDE = 100, 200  # cells that the layout may take at least and at most
_BACKGROUND, _FRAME = (15, 17, 23), (44, 48, 58)
_DOTS = ((236, 106, 94), (245, 191, 79), (98, 197, 84))
_FONTS = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"


def write(report: Report, target: Target) -> None:
    """Writes the picture as wide as the longest matrix needs, whatever the target's own width and colours."""
    report = replace(report, heads=tuple(report.heads))
    columns = 0 if report.sections else max((len(head.keys) for head in report.heads), default=0)
    page = Target(io.StringIO(), min(_WIDE, max(_NARROW, 16 + 3 * columns)), "truecolor", dark=True)
    # Without a declaration XML is UTF-8; in a stream of another encoding only ASCII is that.
    utf8 = (getattr(target.stream, "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"
    for part in _document(lines(report, page), visible(report.title or "attention")):
        target.stream.write((part if utf8 else part.encode("ascii", "xmlcharrefreplace").decode("ascii")) + "\n")


def _document(block: list[Line], title: str) -> Iterator[str]:
    wide = max((cells(line) for line in block), default=0)
    size = (round(2 * _EDGE + wide * _CELL), _TITLE + _EDGE + len(block) * _LINE)
    name = _escaped(title)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" '
        f'viewBox="0 0 {size[0]} {size[1]}" role="img" aria-label="{name}">'
    )
    yield f"<title>{name}</title>"
    yield (
        f"<style>text{{font:{_SIZE}px {_FONTS};white-space:pre}}"
        f".b{{font-weight:bold}}rect{{shape-rendering:crispEdges}}</style>"
    )
    yield (
        f'<rect x="0.5" y="0.5" width="{size[0] - 1}" height="{size[1] - 1}" rx="8" '
        f'fill="{_hex(_BACKGROUND)}" stroke="{_hex(_FRAME)}" style="shape-rendering:auto"/>'
    )
    for i, dot in enumerate(_DOTS):
        yield f'<circle cx="{_EDGE + i * 18}" cy="{_TITLE // 2}" r="5.5" fill="{_hex(dot)}"/>'
    for i, line in enumerate(block):
        yield from _line(line, _TITLE + i * _LINE)
    yield "</svg>"


def _line(line: Line, top: int) -> Iterator[str]:
    at = 0
    for run in line:
        yield from _run(run, at, top)
        at += width(run.text)


def _run(run: Run, at: int, top: int) -> Iterator[str]:
    left = _EDGE + at * _CELL
    if run.style in ("bar", "full"):
        share = 1.0 if run.style == "full" else bar_place(run.weight)
        inset = _BAR if run.style == "bar" else 0
        long = sum((UNICODE.bars.index(glyph) + 1) / 8 for glyph in run.text if glyph in UNICODE.bars) * _CELL
        if long:
            yield _rect(left, top + inset, long, _LINE - 2 * inset, ramp(share, True))
        return
    ink = INK[True].get(run.style, INK[True][""])
    if run.style == "minus":
        long = (run.text.count(UNICODE.bars[-1]) + run.text.count(UNICODE.half) / 2) * _CELL
        if long:
            yield _rect(left + width(run.text) * _CELL - long, top + _BAR, long, _LINE - 2 * _BAR, ink)
        return
    if run.style in ("cell", "less"):
        behind = ramp(place(run.weight), True, less=run.style == "less")
        ink = ink_on(behind)
        yield _rect(left, top, width(run.text) * _CELL, _LINE, behind)
    weight = ' class="b"' if run.style in ("bold", "warn") else ""
    for offset, text in _chunks(run.text):
        joined = ' lengthAdjust="spacingAndGlyphs"' if _is_joined(text) else ""  # spaces would part its letters
        yield (
            f'<text x="{_number(left + offset * _CELL)}" y="{top + 13}" '
            f'textLength="{_number(width(text) * _CELL)}"{joined} fill="{_hex(ink)}"{weight}>{_escaped(text)}</text>'
        )


def _chunks(text: str) -> Iterator[tuple[int, str]]:
    """Words with their offset in cells; what is not ASCII alone, as fallback fonts have their own widths.

    Text from right to left stays whole: whoever shows it joins and orders its letters.
    """
    at, start, word = 0, 0, ""
    for piece in _whole(graphemes(text)):
        if piece == " " or not piece.isascii():
            if word:
                yield start, word
            if piece != " ":
                yield at, piece
            word = ""
        else:
            start = start if word else at
            word += piece
        at += width(piece)
    if word:
        yield start, word


def _whole(pieces: Iterable[str]) -> Iterator[str]:
    """The pieces; as one those from a right-to-left letter to the last that no left-to-right letter parts from it."""
    run, between = "", list[str]()
    for piece in pieces:
        if _is_rtl(piece):
            run, between = run + "".join(between) + piece, []
        elif run and bidirectional(piece[0]) != "L":
            between.append(piece)
        else:
            yield from [run, *between, piece] if run else [piece]
            run, between = "", []
    if run:
        yield from [run, *between]


def _is_rtl(text: str) -> bool:
    return bidirectional(text[0]) in ("R", "AL", "AN")


def _is_joined(text: str) -> bool:
    return width(text) > 1 and any(bidirectional(char) == "AL" for char in text)


def _rect(x: float, y: float, wide: float, high: float, fill: RGB) -> str:
    spot = f'x="{_number(x)}" y="{_number(y)}" width="{_number(wide)}" height="{_number(high)}"'
    return f'<rect {spot} fill="{_hex(fill)}"/>'


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _hex(color: RGB) -> str:
    return "#{:02x}{:02x}{:02x}".format(*color)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
