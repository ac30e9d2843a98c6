"""Sections: headings, paragraphs, formulas with shapes, tables with bars on both sides, and the pause between them."""
# ruff: noqa: RUF001

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.cells import cell_len

from attn_cli.render import Target, _pause, table
from attn_cli.render._lines import Run, flow
from attn_cli.render.svg import write as write_svg
from attn_cli.report import Column, Formula, Label, Prose, Report, Section, Table

BARS = Table(
    name="t",
    title="Scores",
    columns=(
        Column(name="token", title="", kind="token"),
        Column(name="score", title="score", kind="number", digits=2),
        Column(name="bar", title="", kind="bar"),
    ),
    rows=(
        (Label(text="[/red]"), 3.0, 3.0),
        (Label(text=" it", position=4), -1.5, -1.5),
        (Label(text="\x1b[31m", continues=True), float("-inf"), float("-inf")),
        ("sum", 1.5, None),
    ),
    totals=1,
)
REPORT = Report(
    schema="attn-cli.test/1",
    version="",
    text="x",
    sections=(
        Section(parts=(Prose(text="The answer.", kind="answer"),)),
        Section(
            title="1  One",
            parts=(
                Prose(text="word " * 40),
                Formula(lines=(("sⱼ = q · kⱼ / √d", "(n_keys) = (4)"), ("z = Σⱼ wⱼ vⱼ", "(d) = (2)"))),
                BARS,
            ),
        ),
        Section(title="2  二", parts=(Prose(text="模型计算的是向量，不是文字（d_model），“it” 也是。" * 4),)),
    ),
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def drawn(target: Target) -> list[str]:
    assert isinstance(target.stream, io.StringIO)
    table.write(REPORT, target)
    return target.stream.getvalue().splitlines()


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("plain", [False, True])
def test_lines_fit(width: int, plain: bool) -> None:
    lines = drawn(Target(io.StringIO(), width=width, unicode=not plain))
    assert max(cell_len(line) for line in lines) <= width
    assert not plain or all(line.isascii() for line in lines)


def test_bars_run_to_both_sides_of_one_axis() -> None:
    lines = drawn(Target(io.StringIO(), width=60))
    high, low, hidden, total = (
        next(line for line in lines if name in line) for name in ("[/red]", "it@4", "x1b", "sum")
    )
    axis = high.index("│")
    assert low.index("│") == hidden.index("│") == axis
    assert "│" not in total
    right, left = high[axis + 1 :], low[low.index("-1.50") + 5 : axis]
    assert set(right) == {"█"}
    assert left.strip() in ("█" * (len(right) // 2), "▐" + "█" * (len(right) // 2))
    assert "-∞" in hidden
    assert "─" * 20 in lines[lines.index(total) - 1]


def test_no_line_of_chinese_begins_with_a_closing_mark() -> None:
    text = REPORT.sections[2].parts[0]
    assert isinstance(text, Prose)
    for width in range(24, 60):
        for line in flow([[Run(text.text)]], width):
            shown = "".join(run.text for run in line)
            assert shown[0] not in "，。）”", (width, shown)
            assert shown.count("d_model") == shown.count("d_mod"), (width, shown)
            assert cell_len(shown) <= width


def test_the_svg_draws_bars_below_zero() -> None:
    stream = io.StringIO()
    write_svg(REPORT, Target(stream))
    assert stream.getvalue().count('fill="#e27858"') == 1


def test_a_pause_waits_between_sections_in_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    report = replace(REPORT, pause="any key")
    asked: list[str] = []
    monkeypatch.setattr(_pause, "_key", lambda: asked.append("") or " ")
    plain = io.StringIO()
    table.write(report, Target(plain, width=60))
    assert not asked
    monkeypatch.setattr("sys.stdin", Terminal())
    terminal = Terminal()
    table.write(report, Target(terminal, width=60, tty=True))
    assert len(asked) == 2
    assert "any key" in terminal.getvalue()
    monkeypatch.setattr(_pause, "_key", lambda: "q")
    stopped = Terminal()
    table.write(report, Target(stopped, width=60, tty=True))
    assert "The answer." in stopped.getvalue()
    assert "1  One" not in stopped.getvalue()
