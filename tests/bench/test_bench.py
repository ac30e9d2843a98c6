"""The benchmark's own parts: what it draws and how it measures, without its peers."""

from __future__ import annotations

import sys
from xml.etree import ElementTree

import pytest

from tests.bench import __main__ as bench
from tests.bench import cold, growth
from tests.bench.cold import Run

POINTS = [growth.Point(p, n, Run(n / 1000, 50 + n / 10)) for p in ("entropy", "array") for n in (128, 256, 512)][:5]


def test_a_process_is_measured_by_itself() -> None:
    held = bytearray(64 * 2**20)
    small = cold.measure([sys.executable, "-S", "-c", "pass"])
    large = cold.measure([sys.executable, "-S", "-c", f"bytes({64 * 2**20}) + b'x'"])
    assert small.mib < 40 < large.mib, "what the parent holds does not count"
    assert 0 < small.seconds < 30
    assert held


def test_a_process_that_fails_is_no_measurement() -> None:
    with pytest.raises(RuntimeError, match="lacking"):
        cold.measure([sys.executable, "-S", "-c", "raise SystemExit('lacking')"])


def test_the_table_has_a_dash_where_nothing_was_run() -> None:
    lines = growth.table(POINTS)
    assert lines[0].split() == ["tokens", "entropy", "s", "MiB", "array", "s", "MiB"]
    assert lines[-1].split() == ["512", "0.51", "101", "-", "-"]


def test_the_picture_loads_nothing_and_holds_every_point() -> None:
    text = growth.picture(POINTS)
    assert ElementTree.fromstring(text).tag.endswith("svg")
    assert text.count("<circle") == 2 * len(POINTS)
    assert "nan" not in text


def test_lengths_double() -> None:
    assert growth.lengths(1024) == [128, 256, 512, 1024]


def test_a_row_says_how_many_times_as_long_the_other_took() -> None:
    assert bench.Row("show", Run(0.5, 50), "torch", Run(5, 200)).line().split()[-3:] == ["10.00", "0.25", "torch"]
    assert bench.Row("show", Run(0.5, 50)).line().split() == ["show", "0.50", "50"]
