"""Colour: weights on a ramp of rising lightness, which reads with any colour vision and in grey."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache

from . import Target
from ._lines import Line, Run

RGB = tuple[int, int, int]

# Anchors at equal steps of sqrt(weight). They run away from the background: dark to light on a dark terminal,
# light to dark on a light one, through hues that stay apart for red-green colour-blind readers.
_DARK: tuple[RGB, ...] = (
    (17, 21, 32),
    (23, 38, 70),
    (28, 76, 126),
    (50, 148, 158),
    (124, 196, 152),
    (246, 240, 172),
)
_LIGHT: tuple[RGB, ...] = (
    (250, 250, 240),
    (222, 240, 214),
    (160, 214, 200),
    (72, 160, 186),
    (36, 94, 158),
    (18, 30, 92),
)
# What is below zero, on the same scale: from the same background through the orange of bars below zero.
_DARK_LESS: tuple[RGB, ...] = (
    (24, 20, 20),
    (66, 34, 26),
    (118, 54, 34),
    (190, 92, 58),
    (232, 146, 104),
    (255, 222, 188),
)
_LIGHT_LESS: tuple[RGB, ...] = (
    (250, 250, 240),
    (252, 228, 208),
    (246, 190, 152),
    (228, 130, 84),
    (176, 68, 36),
    (88, 26, 10),
)
# The ramps in the fixed colours of poorer terminals: (least sqrt(weight), colour, text colour) by number.
_DARK_256 = (
    (0.0, 235, 255),
    (0.22, 237, 255),
    (0.34, 24, 255),
    (0.52, 30, 231),
    (0.68, 72, 16),
    (0.82, 150, 16),
    (0.93, 229, 16),
)
_LIGHT_256 = (
    (0.0, 230, 16),
    (0.22, 194, 16),
    (0.34, 152, 16),
    (0.52, 74, 16),
    (0.68, 31, 231),
    (0.82, 25, 231),
    (0.93, 17, 231),
)
_DARK_LESS_256 = (
    (0.0, 235, 255),
    (0.22, 52, 255),
    (0.34, 94, 255),
    (0.52, 130, 231),
    (0.68, 173, 16),
    (0.82, 216, 16),
    (0.93, 223, 16),
)
_LIGHT_LESS_256 = (
    (0.0, 230, 16),
    (0.22, 223, 16),
    (0.34, 216, 16),
    (0.52, 173, 16),
    (0.68, 130, 231),
    (0.82, 94, 231),
    (0.93, 52, 231),
)
_DARK_16 = ((0.3, 4, 15), (0.55, 6, 0), (0.8, 7, 0))
_LIGHT_16 = ((0.3, 6, 0), (0.55, 4, 15), (0.8, 0, 15))
_DARK_LESS_16 = ((0.3, 1, 15), (0.55, 9, 0))
_LIGHT_LESS_16 = ((0.3, 9, 0), (0.55, 1, 15))
_RAMPS_256 = {True: (_DARK_256, _DARK_LESS_256), False: (_LIGHT_256, _LIGHT_LESS_256)}  # above zero, below
_RAMPS_16 = {True: (_DARK_16, _DARK_LESS_16), False: (_LIGHT_16, _LIGHT_LESS_16)}
_STEPS = 64  # places of the ramp that are told apart

INK: dict[bool, dict[str, RGB]] = {
    True: {
        "": (208, 212, 220),
        "dim": (140, 147, 160),
        "faint": (84, 91, 106),
        "bold": (240, 243, 248),
        "warn": (240, 180, 70),
        "minus": (226, 120, 88),
    },
    False: {
        "": (40, 44, 52),
        "dim": (98, 104, 116),
        "faint": (160, 165, 174),
        "bold": (16, 18, 24),
        "warn": (160, 84, 0),
        "minus": (184, 76, 44),
    },
}
_GREYS = {
    True: {"dim": 246, "faint": 240, "warn": 215, "minus": 173},
    False: {"dim": 242, "faint": 247, "warn": 130, "minus": 130},
}
_LEAST_BAR = 0.42  # below this the ramp is too close to the background for a thin bar to be seen


def place(weight: float) -> float:
    """Where a weight stands on the ramp: its square root, within 0 to 1."""
    return math.sqrt(min(1.0, max(0.0, weight)))


def ramp(at: float, dark: bool, *, less: bool = False) -> RGB:
    """The colour at a place of the ramp, or with `less` of that for what is below zero."""
    anchors = (_DARK_LESS if less else _DARK) if dark else (_LIGHT_LESS if less else _LIGHT)
    step, part = divmod(at * (len(anchors) - 1), 1.0)
    low, high = anchors[int(step)], anchors[min(int(step) + 1, len(anchors) - 1)]
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(low, high, strict=True))
    return red, green, blue


def ink_on(background: RGB) -> RGB:
    """White where its contrast suffices, as it reads better than the ratio says; else near-black."""
    light, dark = (255, 255, 255), (10, 12, 18)
    return light if contrast(background, light) >= 4 else dark


def contrast(a: RGB, b: RGB) -> float:
    """Contrast ratio of two colours, 1 to 21 (WCAG 2.2)."""
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(color: RGB) -> float:
    """Relative luminance, 0 to 1 (WCAG 2.2)."""
    parts = [c / 255 for c in color]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def bar_place(weight: float) -> float:
    """As `place`, lifted at the low end to what can be seen as a thin line."""
    return max(_LEAST_BAR, place(weight))


def encode(lines: Iterable[Line], target: Target) -> str:
    """The lines as text for the target, one newline after each."""
    if target.color is None:
        return "".join("".join(run.text for run in line).rstrip(" ") + "\n" for line in lines)
    return "".join(_colored(line, target) + "\n" for line in lines)


def _colored(line: Line, target: Target) -> str:
    parts, last = [], ""
    for run in line:
        code = _code(run, target) if run.text else last
        if not run.text.strip(" ") and run.style != "cell":
            code = ""
        if code != last:
            parts.append(f"\x1b[0;{code}m" if last and code else f"\x1b[{code or 0}m")
            last = code
        parts.append(run.text)
    return "".join(parts) + ("\x1b[0m" if last else "")


def _code(run: Run, target: Target) -> str:
    """The SGR parameters of a run; "" for plain text."""
    style = run.style
    if style in ("cell", "less", "full", "bar"):
        at = bar_place(run.weight) if style == "bar" else place(run.weight)
        behind, less = style in ("cell", "less"), style == "less"
        return _weight_code(behind, less, round(at * _STEPS), target.color, target.dark)
    if style in ("", "bold"):
        return "1" if style else ""
    bold = "1;" if style == "warn" else ""
    if target.color == "truecolor":
        return bold + _rgb(38, INK[target.dark][style])
    if target.color == "256":
        return f"{bold}38;5;{_GREYS[target.dark][style]}"
    return {"warn": "1;33" if target.dark else "1;35", "minus": "31"}.get(style, "2")


@cache
def _weight_code(behind: bool, less: bool, step: int, color: str | None, dark: bool) -> str:
    """A weight as the colour behind its number, or as the colour of a bar."""
    at = step / _STEPS
    if color == "truecolor":
        shade = ramp(at, dark, less=less)
        return f"{_rgb(38, ink_on(shade))};{_rgb(48, shade)}" if behind else _rgb(38, shade)
    if color == "256":
        number, ink = _numbers(at, _RAMPS_256[dark][less]) or (0, 0)
        return f"38;5;{ink};48;5;{number}" if behind else f"38;5;{number}"
    found = _numbers(at, _RAMPS_16[dark][less])
    if not found:
        return ""
    number, ink = found
    return f"{_sixteen(ink)};{_sixteen(number) + 10}" if behind else str(_sixteen(number))


def _numbers(at: float, table: tuple[tuple[float, int, int], ...]) -> tuple[int, int] | None:
    """The colour at a place and the ink on it, by number; None below the table's first row."""
    rows = [row for row in table if row[0] <= at]
    return rows[-1][1:] if rows else None


def _sixteen(number: int) -> int:
    return 30 + number if number < 8 else 82 + number


def _rgb(kind: int, color: RGB) -> str:
    return "{};2;{};{};{}".format(kind, *color)
