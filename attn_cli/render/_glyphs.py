"""How a weight is written: as a matrix cell of three cells, as per cent in a list, as a bar."""

from __future__ import annotations

import math
from typing import NamedTuple

from . import Target
from ._lines import Run

CELL = 3
COLOURED_FROM = 0.01  # fainter weights get no background
_SHADES_FROM = (2, 14, 39, 77)  # per cent as written: the quarters of the square root, to the nearest


class Glyphs(NamedTuple):
    """The glyphs of one target, all of them one cell wide but `cut`."""

    shades: str
    bars: str  # by eighths of a cell, the last a whole one
    half: str  # the right half of a cell
    line: str
    full: str  # a weight of 1
    masked: str
    gap: str  # columns left out
    rule: str
    cut: str
    cut_down: str  # the same in a label written downwards
    dot: str
    times: str
    warn: str


UNICODE = Glyphs(" ░▒▓█", "▏▎▍▌▋▊▉█", "▐", "─", "███", "·", "┊", "│", "…", "⋮", "·", "\u00d7", "▲")
ASCII = Glyphs(" :+*#", "#", "#", "-", "100", ".", "|", "|", "..", ":", "-", "x", "!")


def glyphs_of(target: Target) -> Glyphs:
    """The glyphs that the target's encoding holds."""
    return UNICODE if target.unicode else ASCII


def percent(weight: float) -> str:
    """Whole per cent in at most two characters, or 100; less than 0.995 is written as 99 at most."""
    if math.isnan(weight):
        return "-"
    if weight < -0.005:
        return "<0"
    if weight >= 1.005:
        return ">1"
    if weight >= 0.995:
        return "100"
    return str(min(99, max(0, math.floor(weight * 100 + 0.5))))


def percent_fine(weight: float) -> str:
    """Per cent with one decimal in at most four characters."""
    if math.isnan(weight) or weight < -0.0005 or weight >= 1.005:
        return percent(weight) if weight < -0.005 or not weight < 0 else "<0"
    if weight >= 0.9995:
        return "100"
    return f"{min(99.9, max(0.0, math.floor(weight * 1000 + 0.5) / 10)):.1f}"


def cell(weight: float, seen: bool, glyphs: Glyphs, colored: bool) -> Run:
    """One cell of a matrix: the number in two of its three cells, then a shade where there is no colour."""
    if not seen:
        return Run(f" {glyphs.masked} ", "faint")
    text = percent(weight)
    if text == "100":
        return Run(glyphs.full, "full" if glyphs.full != text else "cell", 1.0)
    if text == "0" or math.isnan(weight):
        return Run(f" {text} ", "faint" if text == "0" else "dim")
    shade = " " if colored else glyphs.shades[_level(text)]
    return Run(f"{text:>2}{shade}", "cell" if weight >= COLOURED_FROM else "dim", weight)


def _level(number: str) -> int:
    if number == ">1":
        return len(_SHADES_FROM)
    return sum(int(number) >= least for least in _SHADES_FROM) if number.isdigit() else 0


def bar(weight: float, whole: int, size: int, glyphs: Glyphs) -> str:
    """A bar where `whole` cells stand for a weight of 1, within `size` cells; nothing for nothing."""
    if not weight > 0 or size <= 0:
        return ""
    steps = len(glyphs.bars)
    eighths = min(size * steps, math.floor(min(weight, 1e6) * whole * steps + 0.5))
    if eighths == 0:
        return "" if steps == 1 else glyphs.bars[0]
    full, part = divmod(eighths, steps)
    return glyphs.bars[-1] * full + (glyphs.bars[part - 1] if part else "")
