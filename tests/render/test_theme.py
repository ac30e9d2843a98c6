from __future__ import annotations

import io
import itertools

import numpy as np
import pytest

from attn_cli.render import Target, _theme
from attn_cli.render._glyphs import ASCII, UNICODE, bar, cell, percent, percent_fine
from attn_cli.render._maps import head_map
from attn_cli.report import HeadMap


def _xterm(number: int) -> tuple[int, int, int]:
    if number >= 232:
        return (8 + (number - 232) * 10,) * 3
    steps = [0, 95, 135, 175, 215, 255]
    number -= 16
    return steps[number // 36], steps[number // 6 % 6], steps[number % 6]


BOTH = [False, True]  # above zero, below


@pytest.mark.parametrize("less", BOTH)
@pytest.mark.parametrize("dark", [True, False])
def test_lightness_runs_one_way_from_the_background(dark: bool, less: bool) -> None:
    light = [_theme.luminance(_theme.ramp(step / 100, dark, less=less)) for step in range(101)]
    pairs = itertools.pairwise(light if dark else light[::-1])
    assert all(low < high for low, high in pairs)


@pytest.mark.parametrize("less", BOTH)
@pytest.mark.parametrize("dark", [True, False])
def test_numbers_stand_out_on_every_colour(dark: bool, less: bool) -> None:
    for step in range(101):
        color = _theme.ramp(step / 100, dark, less=less)
        assert _theme.contrast(color, _theme.ink_on(color)) >= 4


@pytest.mark.parametrize(
    ("table", "dark"), [(table, dark) for dark, tables in _theme._RAMPS_256.items() for table in tables]
)
def test_fixed_colours_run_the_same_way(table: tuple[tuple[float, int, int], ...], dark: bool) -> None:
    light = [_theme.luminance(_xterm(number)) for _, number, _ in table]
    assert all(low < high for low, high in itertools.pairwise(light if dark else light[::-1]))
    for _, number, ink in table:
        assert _theme.contrast(_xterm(number), _xterm(ink)) >= 4


@pytest.mark.parametrize(
    ("weight", "whole", "fine"),
    [
        (0.0, "0", "0.0"),
        (0.0049, "0", "0.5"),
        (0.005, "1", "0.5"),
        (0.677, "68", "67.7"),
        (0.9949, "99", "99.5"),
        (0.995, "100", "99.5"),
        (0.9996, "100", "100"),
        (1.0, "100", "100"),
        (1.2, ">1", ">1"),
        (-0.2, "<0", "<0"),
        (float("nan"), "-", "-"),
        (float("inf"), ">1", ">1"),
        (float("-inf"), "<0", "<0"),
    ],
)
def test_numbers(weight: float, whole: str, fine: str) -> None:
    assert percent(weight) == whole
    assert percent_fine(weight) == fine


@pytest.mark.parametrize(
    ("weight", "seen", "glyphs", "text"),
    [
        (0.0, True, UNICODE, " 0 "),
        (0.0, False, UNICODE, " · "),
        (0.0, False, ASCII, " . "),
        (0.01, True, UNICODE, " 1 "),
        (0.05, True, UNICODE, " 5░"),
        (0.25, True, UNICODE, "25▒"),
        (0.5, True, UNICODE, "50▓"),
        (0.9, True, UNICODE, "90█"),
        (1.0, True, UNICODE, "███"),
        (1.0, True, ASCII, "100"),
        (0.5, True, ASCII, "50*"),
        (2.0, True, UNICODE, ">1█"),
        (-1.0, True, UNICODE, "<0 "),
        (float("nan"), True, UNICODE, " - "),
    ],
)
def test_cells(weight: float, seen: bool, glyphs: object, text: str) -> None:
    assert cell(weight, seen, glyphs, colored=False).text == text  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("weight", "text"),
    [(0.0, ""), (0.001, "▏"), (0.05, "▌"), (0.68, "██████▊"), (1.0, "█" * 10), (3.0, "█" * 10)],
)
def test_bars_keep_eighths_of_a_cell(weight: float, text: str) -> None:
    assert bar(weight, 10, 10, UNICODE) == text


def test_bars_in_ascii() -> None:
    assert bar(0.68, 10, 10, ASCII) == "#######"
    assert bar(0.01, 10, 10, ASCII) == ""


@pytest.mark.parametrize("width", [80, 5])
def test_a_map_draws_its_commonest_code_faint(width: int) -> None:
    made = HeadMap(
        title="", layers=(0,), heads=(0, 1), values=np.array([[0.9, 0.9]]), codes=(("ft", "pt"),), faint="ft"
    )
    row = head_map(made, Target(stream=io.StringIO(), width=width, color="truecolor"), UNICODE)[-1]
    assert [(run.text[:1], run.style) for run in row[1:]] == [("f", "faint"), ("p", "cell")]
