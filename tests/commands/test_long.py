"""Texts too long for a matrix of single tokens."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from tests.helpers import attn_cli

TEXT = " ".join("the cat sat on a mat while rain fell over quiet hills".split()[i * 7 % 12] for i in range(230))
SHAPE = ["--random", "--n-layers", "1", "--n-heads", "2", "--causal"]
N = 249  # tokens
ROW = re.compile(r"^ *(\d+-\d+ |\d+ .*[\u2591-\u2593\u00b7])")


def matrix(*options: str, columns: int = 100) -> tuple[list[str], str]:
    done = attn_cli("show", *SHAPE, TEXT, "--view", "matrix", "-H", "0.1", *options, env={"COLUMNS": str(columns)})
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode()
    picture = text.partition("rows are queries")[0]
    return [line for line in picture.split("\n") if ROW.match(line)], " ".join(text.split())


@pytest.mark.parametrize("columns", [40, 80, 100, 160])
def test_a_long_text_fits_the_width_as_blocks(columns: int) -> None:
    rows, text = matrix(columns=columns)
    assert max(map(len, rows)) <= columns
    assert "each cell is the mean over a block of" in text
    assert "columns shown" not in text
    assert "rows shown" not in text
    assert "others: --query" not in text


def test_cells_are_means_in_the_unit_that_is_named() -> None:
    rows, text = matrix()
    size = [int(n) for n in re.search(r"block of (\d+) \S (\d+) weights", text).groups()]  # type: ignore[union-attr]
    document = json.loads(attn_cli("show", *SHAPE, TEXT, "-H", "0.1", "--json").stdout)
    whole = np.array(document["heads"][0]["attn"], np.float64)
    seen = np.tril(np.ones(whole.shape, bool))
    last = np.arange(len(whole))[-(len(whole) % size[0] or size[0]) :]
    cell = whole[np.ix_(last, range(size[1]))][seen[np.ix_(last, range(size[1]))]].mean()
    power = ["numbers are per cent", "tenths", "hundredths", "thousandths"].index(
        next(w for w in ("thousandths", "hundredths", "tenths", "numbers are per cent") if w in text)
    )
    label, first = rows[-1].split()[:2]
    assert label.split("-")[0] == str(last[0])
    assert abs(int(re.match(r"\d+", first)[0]) - 100 * 10**power * cell) <= 0.51  # type: ignore[index]


def test_the_largest_of_a_block() -> None:
    _, text = matrix("--pool", "max")
    assert "each cell is the largest of a block of" in text


def test_zooming_in_on_few_rows_and_columns_gives_single_tokens() -> None:
    _, text = matrix("--query", "120-139", "--key", "100-119")
    assert "block of" not in text


def test_zooming_in_on_many_keys_pools_those_alone() -> None:
    rows, text = matrix("--query", "120-139", "--key", "0-119")
    assert re.search(r"block of 1 \S \d+ weights", text)
    assert [row.split()[0] for row in rows[-20:]] == [str(i) for i in range(120, 140)]


def test_programs_get_every_weight_whatever_the_view() -> None:
    done = attn_cli("show", *SHAPE, TEXT, "--view", "matrix", "-H", "0.1", "--json")
    assert len(json.loads(done.stdout)["heads"][0]["attn"]) == N


def test_svg_has_blocks_too() -> None:
    done = attn_cli("show", *SHAPE, TEXT, "--view", "matrix", "--format", "svg")
    assert b">block</text>" in done.stdout


def test_top_keys_of_every_query_come_line_by_line() -> None:
    done = attn_cli("show", *SHAPE, TEXT, "--format", "jsonl", "--no-attn", "-k", "2")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == 2
    assert all("attn" not in line and len(line["top"]) == N for line in lines)
