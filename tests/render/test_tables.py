"""Tables in every format: values as their columns write them, names broken but never cut, hostile texts harmless."""

from __future__ import annotations

import csv as standard_csv
import io
import json as standard_json
from typing import Any

import pytest
from rich.cells import cell_len

from attn_cli.render import Target, csv, json, jsonl, svg, table
from attn_cli.render._tables import size_of
from attn_cli.report import Column, Report, Table

from .reports import HOSTILE, rendered

COLUMNS = (
    Column(name="name", title="name", wraps=True),
    Column(name="count", title="parameters", kind="count"),
    Column(name="share", title="%", kind="percent"),
    Column(name="score", title="score", kind="number", digits=3),
    Column(name="nbytes", title="size", kind="bytes"),
    Column(name="ok", title="supported", kind="flag"),
)
ROWS = (
    ("layers.[0-29].attn.q", 9953280, 0.0741, 0.12345, 6220800, True),
    ("head", 12, 1.0, float("nan"), 12, False),
    (None, None, None, None, None, None),
)


def of(*tables: Table) -> Report:
    return Report(schema="attn-cli.test/1", version="1", text=None, of_text=False, tables=tables)


def one(rows: tuple[tuple[Any, ...], ...] = ROWS, columns: tuple[Column, ...] = COLUMNS, **more: Any) -> Table:
    return Table(name="rows", columns=columns, rows=rows, **more)


def test_the_picture() -> None:
    assert rendered(table, of(one(title="A title", note="a note"))).splitlines() == [
        "A title",
        "name                  parameters      %  score    size  supported",
        "layers.[0-29].attn.q   9,953,280    7.4  0.123  6.2 MB  yes",
        "head                          12  100.0           12 B  no",
        "",
        "a note",
    ]


def test_a_narrow_picture_breaks_names_and_loses_nothing() -> None:
    name = "encoder.layer.[0-5].attention.output.LayerNorm.weight"
    made = one(((name, 1),), COLUMNS[:2])
    lines = rendered(table, of(made), width=40).splitlines()[1:]
    assert max(map(cell_len, lines)) <= 40
    assert lines[0].endswith(" 1")
    assert "".join([lines[0][:-1].strip(), *(line.strip() for line in lines[1:])]) == name


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("2020, arXiv 1909.11942, section 3", ["2020, arXiv", "1909.11942,", "section 3"]),
        ("embeddings.token_type_embeddings", ["embeddings.", "token_type_", "embeddings"]),
        ("self.query.{weight,bias}.abcdefghijklmnop", ["self.query.", "{weight,bias}.", "abcdefghijklmnop"]),
        ("abcdefghijklmnopqrstuvwxyz", ["abcdefghijklmnopqr", "stuvwxyz"]),
    ],
)
def test_texts_break_between_words(text: str, lines: list[str]) -> None:
    made = one(((text, 10**6),), COLUMNS[:2])
    drawn = rendered(table, of(made), width=30).splitlines()[1:]
    assert [line[:18].strip() for line in drawn] == lines


def test_names_are_cut_and_a_spare_column_left_out_before_columns_go_below() -> None:
    columns = (
        Column(name="head", title="head"),
        Column(name="bits", title="bits", kind="number", digits=2, bar=True),
        Column(name="moved", title="moved", kind="flag", spare=True),
        Column(name="name", title="most in", clips=True),
        Column(name="was", title="was", kind="percent"),
    )
    made = of(one((("L0.H0", 0.5, True, "a long sentence/another sentence", 0.1),), columns))

    def drawn(width: int) -> list[str]:
        return rendered(table, made, width=width).splitlines()

    assert drawn(69) == [
        "head   bits           moved  most in                            was",
        "L0.H0  0.50 ████      yes    a long sentence/another sentence  10.0",
    ]
    assert drawn(66) == [
        line.replace("    moved", "moved").replace("    yes", "yes") for line in drawn(70)
    ]  # short bars
    assert drawn(50)[1] == "L0.H0  0.50 ████  yes    a long s…/another …  10.0"
    assert drawn(45) == [
        "head   bits       most in                 was",
        "L0.H0  0.50 ████  a long se…/another s…  10.0",
    ]
    assert len(drawn(30)) == 5  # in two bands


@pytest.mark.parametrize("width", [20, 40, 100])
def test_hostile_texts(width: int) -> None:
    made = one(tuple((text, 1) for text in HOSTILE), COLUMNS[:2])
    drawn = rendered(table, of(made), width=width)
    assert not set(drawn) & set("\x1b\x9b\x00\r\t\u202e\u2028\u200b\ufeff\U000e0041")
    picture = rendered(svg, of(made))
    assert "</script>" not in picture


def test_what_programs_get() -> None:
    hidden = Table(name="", columns=COLUMNS[:1], rows=(("only drawn",),))
    data = Table(name="data", columns=COLUMNS[:2], rows=(("[red]\x1b\n", 3),), pictured=False)
    made = of(hidden, one(), data)
    document = standard_json.loads(rendered(json, made))
    assert list(document) == ["schema", "version", "rows", "data"]
    assert document["rows"][0] == dict(zip((c.name for c in COLUMNS), ROWS[0], strict=True))
    assert document["rows"][1]["score"] is None
    assert document["data"] == [{"name": "[red]\x1b\n", "count": 3}]
    lines = [standard_json.loads(line) for line in rendered(jsonl, made).splitlines()]
    assert [line["table"] for line in lines] == ["rows"] * 3 + ["data"]
    parsed = list(standard_csv.reader(io.StringIO(rendered(csv, made))))
    assert parsed[0] == [c.name for c in COLUMNS]
    assert len(parsed) == 4
    drawn = rendered(table, made)
    assert "only drawn" in drawn
    assert "[red]" not in drawn


def test_ascii_alone() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", newline="\n")
    table.write(of(one((("café", 1),), COLUMNS[:2])), Target(stream, unicode=False))
    stream.flush()
    assert b"caf\\xe9" in stream.buffer.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (5 * 10**15, "5000.0 TB"),
    ],
)
def test_sizes(count: int, text: str) -> None:
    assert size_of(count) == text
