"""The signed difference of a head: two colours, names of two halves, a caption."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from attn_cli.render import svg, table
from attn_cli.report import Difference, Report

from .reports import axis, rendered, report

TEXTS = ("[CLS]", "too", "tired/wide", "日/中", "and/or")
CHANGE = np.array([[0.0, 0.78, -0.77, 0.004, -0.05]] * 2, np.float32)
CAPTION = "a/b: a in the first, b in the second, + or - where it has none"


def made(sides: bool = True) -> Report:
    keys = axis(TEXTS)
    if sides:
        keys = replace(keys, sides=(None, None, ("tired", "wide"), ("日", "中"), None))
    change = Difference(kind="self", layer=2, head=1, queries=axis(TEXTS, [0, 2]), keys=keys, change=CHANGE)
    return report([], differences=(change,))


def test_names_of_two_halves_stand_side_by_side_above_a_captioned_picture() -> None:
    lines = rendered(table, made()).splitlines()
    assert lines[lines.index("L2.H1  second minus first") + 1 :] == [
        "                              a",
        "              [     t         n",
        "              C     i/w       d",
        "              L   t r/i  日   /",
        "              S   o e/d   /   o",
        "              ]   o d/e  中   r",
        "     [CLS]    · +78 -77   ·  -5",
        "tired/wide    · +78 -77   ·  -5",
        "",
        "rows are queries (what looks), columns are keys (what is looked at)",
        "numbers are percentage points: second minus first   · less than half a point",
        CAPTION,
    ]
    assert CAPTION not in rendered(table, made(sides=False))


@pytest.mark.parametrize("color", ["16", "256", "truecolor"])
@pytest.mark.parametrize("dark", [True, False])
def test_gain_and_loss_have_colours_of_their_own(color: str, dark: bool) -> None:
    drawn = rendered(table, made(), color=color, dark=dark)
    codes = {drawn.split(number)[0].rpartition("\x1b[")[2] for number in (" +78", " -77")}
    assert len(codes) == 2
    assert "colour by square root" in drawn


def test_gain_and_loss_in_an_svg() -> None:
    drawn = rendered(svg, made())
    gain, loss = (
        drawn.split(f">{number}<")[0].rpartition("<rect")[2].split('fill="')[1][:7] for number in ("+78", "-77")
    )
    assert int(loss[1:3], 16) > int(loss[5:7], 16) + 60  # orange
    assert int(gain[3:5], 16) > int(gain[1:3], 16)  # green
