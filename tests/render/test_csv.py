"""Weights as lines of CSV."""

from __future__ import annotations

import csv as standard_csv
import io
import time
from dataclasses import replace

import numpy as np
import pytest

from attn_cli.render import csv
from attn_cli.report import Axis, Column, Table

from .reports import head, rendered, report

TEXTS = ("a,b", 'say "x"', "\r\n", "\ud83d", "\r")


def _parsed(text: str) -> list[list[str]]:
    return list(standard_csv.reader(io.StringIO(text, newline="")))


def _digits(number: str) -> str:
    """The significant ones: the shortest that give the number back are the same in every notation."""
    return number.partition("e")[0].replace(".", "").strip("0")


def test_every_weight_has_its_line() -> None:
    made = head(TEXTS, name=(2, 1), causal=True)
    header, *lines = _parsed(rendered(csv, report([made, head(TEXTS, name=(2, 3))], TEXTS)))
    assert header == ["kind", "layer", "head", "query", "query_text", "key", "key_text", "weight"]
    assert len(lines) == 50
    assert made.attn is not None
    texts = [*TEXTS[:3], "\\ud83d", "\r"]
    for number, line in enumerate(lines[:25]):
        i, j = divmod(number, 5)
        assert line[:7] == ["self", "2", "1", str(i), texts[i], str(j), texts[j]]
        assert np.float32(line[7]) == (made.attn[i, j] if j <= i else 0)
        assert j > i or _digits(line[7]) == _digits(str(made.attn[i, j]))
        assert j <= i or line[7] == "0"


def test_merged_positions_missing_numbers_and_folded_heads() -> None:
    axis = Axis(
        positions=(0, (1, 2)), texts=("a", "b c"), special=(None,) * 2, continues=(False,) * 2, repeated=(False,) * 2,
        unknown=(False,) * 2,
    )  # fmt: skip
    attn = np.array([[0.1, np.nan], [1e-7, 1]], dtype=np.float32)
    made = replace(head(("a", "b"), attn=attn), queries=axis, keys=axis, layer=None, head=None)
    text = rendered(csv, report([made, replace(made, attn=None)], ("a", "b")))
    _, *lines = _parsed(text)
    assert [line[7] for line in lines] == ["0.1", "", lines[2][7], "1.0"]
    assert np.float32(lines[2][7]) == np.float32(1e-7)
    assert lines[1][:7] == ["self", "", "", "0", "a", "1 2", "b c"]


def test_a_carriage_return_in_a_table_is_quoted() -> None:
    rows = (("a\rb", 1.5), (None, 2))
    made = Table(name="rows", columns=(Column(name="x", title="x"), Column(name="y", title="y")), rows=rows)
    assert _parsed(rendered(csv, report([], tables=(made,)))) == [["x", "y"], ["a\rb", "1.5"], ["", "2"]]


@pytest.mark.parametrize("causal", [False, True])
def test_a_weight_takes_a_microsecond(causal: bool) -> None:
    texts = tuple(f"w{i}" for i in range(400))
    made = report([head(texts, causal=causal)], texts)
    started = time.process_time()
    written = rendered(csv, made)
    assert time.process_time() - started < 160_000 * 4e-6  # one by one it takes above ten
    assert written.count("\n") == 160_001
