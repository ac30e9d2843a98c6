"""What the help says, at any width."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from attn_cli.cli import app

from .helpers import attn_cli_process

COMMANDS = [str(c.name or getattr(c.callback, "__name__", "")) for c in app.registered_commands]


@pytest.mark.parametrize("command", app.registered_commands, ids=COMMANDS)
def test_paragraphs_of_the_help_are_lines(command: object) -> None:
    said = getattr(command, "help", None) or getattr(command, "callback").__doc__  # noqa: B009
    assert said
    assert not re.search(r"[^\n]\n(?!\n)", said.strip())


@pytest.mark.parametrize("width", [80, 120])
def test_the_help_fills_its_lines(width: int) -> None:
    drawn = attn_cli_process(
        "show", "--help", env={"COLUMNS": str(width), "TERMINAL_WIDTH": str(width)}
    ).stdout.decode()
    lines = [line.strip() for line in drawn.split("\n")]
    start = next(i for i, line in enumerate(lines) if line.startswith("Rows are queries"))
    paragraph = lines[start : lines.index("", start)]
    for line, after in pairwise(paragraph):
        assert len(line) + 1 + len(after.split()[0]) > width - 2  # the next word would not have fitted


@pytest.mark.parametrize("command", COMMANDS)
def test_values_and_defaults_read_well(command: str) -> None:
    drawn = attn_cli_process(command, "--help", env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"}).stdout.decode()
    assert not re.findall(r"<\w[\w|]*(?![\w|>])", drawn)
    assert not re.findall(r"\[default: \(", drawn)
