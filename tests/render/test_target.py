from __future__ import annotations

import pytest

from attn_cli.render import GLYPHS, Target

from .reports import Stream

TTY = {"TERM": "xterm-256color"}


@pytest.mark.parametrize(
    ("env", "tty", "color"),
    [
        ({}, False, None),
        ({"TERM": "xterm"}, True, "16"),
        (TTY, True, "256"),
        (TTY, False, None),
        ({**TTY, "COLORTERM": "truecolor"}, True, "truecolor"),
        ({**TTY, "NO_COLOR": "1"}, True, None),
        ({**TTY, "NO_COLOR": ""}, True, "256"),
        ({**TTY, "NO_COLOR": "1", "FORCE_COLOR": "1"}, True, None),
        ({**TTY, "FORCE_COLOR": "1"}, False, "256"),
        ({"FORCE_COLOR": "3"}, False, "truecolor"),
        ({"FORCE_COLOR": "yes"}, False, "16"),
        ({**TTY, "FORCE_COLOR": ""}, False, None),
        ({**TTY, "FORCE_COLOR": "0"}, True, None),
        ({"TERM": "dumb"}, True, None),
        ({"TERM": "xterm-direct"}, True, "truecolor"),
    ],
)
def test_color(env: dict[str, str], tty: bool, color: str | None) -> None:
    assert Target.of(Stream(tty=tty), env).color == color


def test_color_asked_for_beats_the_environment() -> None:
    assert Target.of(Stream(), {"NO_COLOR": "1"}, color=True).color == "16"
    assert Target.of(Stream(), {"FORCE_COLOR": "1"}, color=False).color is None
    assert Target.of(Stream(), {}, color="truecolor").color == "truecolor"


@pytest.mark.parametrize(
    ("columns", "width"),
    [("60", 60), (" 72 ", 72), ("abc", 100), ("0", 100), ("-5", 100), ("", 100), ("1e3", 100), ("²", 100)],
)
def test_columns(columns: str, width: int) -> None:
    assert Target.of(Stream(), {"COLUMNS": columns}).width == width


def test_a_terminal_without_a_size_is_80_wide() -> None:
    assert Target.of(Stream(tty=True), {}).width == 80


@pytest.mark.parametrize(
    ("background", "dark"),
    [("15;0", True), ("0;15", False), ("0;default;7", False), ("7;8", True), ("", True), ("odd", True)],
)
def test_light_terminals(background: str, dark: bool) -> None:
    assert Target.of(Stream(), {"COLORFGBG": background}).dark is dark


@pytest.mark.parametrize(
    ("encoding", "unicode", "within"),
    [
        ("utf-8", True, None),
        ("UTF8", True, None),
        ("utf-16-le", True, None),
        (None, True, None),
        ("ascii", False, "ascii"),
        ("cp1252", False, "cp1252"),
        ("no-such-encoding", False, "no-such-encoding"),
    ],
)
def test_encoding(encoding: str | None, unicode: bool, within: str | None) -> None:
    target = Target.of(Stream(encoding), {})
    assert target.unicode is unicode
    assert target.encoding == within


def test_glyphs_are_one_cell_each() -> None:
    from attn_cli.render._text import width

    assert [width(glyph) for glyph in GLYPHS] == [1] * len(GLYPHS)
