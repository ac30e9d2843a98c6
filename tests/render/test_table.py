from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from attn_cli.render import Target, table
from attn_cli.render._glyphs import percent
from attn_cli.report import Axis, Head, Note, Report

from .reports import HOSTILE, SENTENCE, Stream, axis, bare, head, random_report, rendered, report

GOLDEN = Path(__file__).parent / "golden"
MANY = tuple(f"w{i}" for i in range(60))


def _words() -> Report:
    """Pieces merged to words: positions are tuples."""
    merged = Axis(
        positions=(0, (1,), 2, 3, 4, (5, 6), 7, 8, 9),
        texts=("[CLS]", "the", "animal", "was", "too", "tiredest", ".", "the", "[SEP]"),
        special=("added", *(None,) * 7, "added"),
        continues=(False,) * 9,
        repeated=(False, True, *(False,) * 5, True, False),
        unknown=(False,) * 9,
    )
    made = head(SENTENCE[:9], attn=None)
    return report([Head(**{**made.__dict__, "queries": merged, "keys": merged})], merge="words")


def _cross() -> Report:
    queries, keys = axis(["<s>", "le", "chat"]), axis(["the", "cat", "sat", "</s>"])
    attn = np.array([[0.7, 0.1, 0.1, 0.1], [0.9, 0.05, 0.03, 0.02], [0.02, 0.95, 0.02, 0.01]], dtype=np.float32)
    made = Head(kind="cross", layer=1, head=0, queries=queries, keys=keys, attn=attn, visible=None)
    return report([made], text="the cat sat", target="le chat")


PICTURES = {
    "both": report(),
    "matrix": report(view="matrix"),
    "top": report(view="top"),
    "query": report([head(name=(layer, 1), queries=[2, 8]) for layer in range(3)], view="query"),
    "causal": random_report(heads=[head(causal=True)]),
    "wide": report([head(MANY, name=(0, h)) for h in range(2)], MANY),
    "hidden": report(
        [head(held=np.linspace(0, 1, 10, dtype=np.float32), role="looks back")],
        hidden=(0, 9),
        renormalised=True,
    ),
    "words": _words(),
    "cross": _cross(),
    "hostile": report([head(HOSTILE)], HOSTILE, view="top"),
}


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_as_accepted(name: str) -> None:
    """To accept a change, delete the file, run once and look at what is written instead."""
    path = GOLDEN / f"{name}.txt"
    drawn = rendered(table, PICTURES[name])
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_text(drawn, encoding="utf-8", newline="\n")
        pytest.fail(f"{path.name} was missing and has been written: look at it")
    assert drawn == path.read_text(encoding="utf-8")


def _everything(texts: Sequence[str], causal: bool, held: bool, every_key: bool, view: str) -> Report:
    weight = np.linspace(0, 1, len(texts), dtype=np.float32) if held else None
    heads = [head(texts, name=(10 * i, i), causal=causal, held=weight) for i in range(3)]
    return random_report(heads=heads, texts=texts, view=view, every_key=every_key)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(HOSTILE) | st.sampled_from(SENTENCE), min_size=1, max_size=45),
    st.integers(20, 200),
    st.sampled_from([None, "16", "256", "truecolor"]),
    st.sampled_from(["both", "matrix", "top", "query"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, "ascii", "cp1252", "shift_jis", "utf-8"]),
)
def test_every_line_fits(
    texts: list[str],
    width: int,
    color: Any,
    view: str,
    causal: bool,
    held: bool,
    every_key: bool,
    encoding: str | None,
) -> None:
    stream = Stream(encoding)
    target = Target(stream, width, color, unicode=Target.of(stream, {}).unicode)
    table.write(_everything(texts, causal, held, every_key, view), target)
    drawn = stream.getvalue()
    plain = bare(drawn)
    assert "\x1b" not in plain
    for line in plain.split("\n"):
        assert cell_len(line) <= width
        assert color or line == line.rstrip(" ")


@pytest.mark.parametrize("width", [60, 100, 160])
@pytest.mark.parametrize("view", ["both", "top", "query"])
def test_as_many_keys_are_listed_as_were_asked_for(view: str, width: int) -> None:
    made = head(MANY[:12], queries=[3, 8], k=9)
    drawn = rendered(table, report([made], MANY[:12], view=view, every_key=True), width=width)
    lines = [list(re.finditer(r"w\d+ +<?[\d.]+ [▏▎▍▌▋▊▉█]", line)) for line in drawn.split("\n")]
    listed = [entry[0].split()[0] for line in lines for entry in line]
    assert listed == [MANY[key] for top in made.top for key, _ in top.keys]
    first, *others = [[entry.start() for entry in line] for line in lines if line]
    assert all(starts == first[: len(starts)] for starts in others)


def _rows(drawn: str) -> list[list[str]]:
    """What is written in the cells of a lone matrix over tokens w0, w1 and so on."""
    lines = [found[1] for found in re.finditer(r"(?m)^ *w\d+ (?=[ \d█┊<>·])(.*)$", drawn)]
    return [["100" if "█" in cell else cell for cell in re.findall(r"\d+|█{3}|·", line)] for line in lines]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 30), st.integers(20, 200), st.booleans())
def test_every_number_of_a_matrix_can_be_read(n: int, width: int, causal: bool) -> None:
    texts = tuple(f"w{i}" for i in range(n))
    made = head(texts, causal=causal)
    drawn = rendered(table, report([made], texts, view="matrix"), width=width)
    rows = _rows(drawn)
    assert len(rows) == n
    assert made.attn is not None
    said = re.search(r"(\d+) of (\d+) columns shown, those with the most weight", " ".join(drawn.split()))
    for i, row in enumerate(rows):
        seen = [made.visible is None or bool(made.visible[i, j]) for j in range(n)]
        expected = [percent(float(w)) if see else "·" for w, see in zip(made.attn[i], seen, strict=True)]
        if said:
            assert len(row) == int(said[1]) >= 1
            assert int(said[2]) == n
        else:
            assert row == expected


@pytest.mark.parametrize("width", [20, 40, 60])
@pytest.mark.parametrize("view", ["both", "top", "query"])
def test_narrow_pictures_are_not_blank(width: int, view: str) -> None:
    texts = ("the", "cat", "sat", "on", "the", "mat") * 2
    drawn = rendered(table, report([head(texts)], texts, view=view), width=width)
    assert len(re.findall(r"\b\d{1,2}(?:\.\d)?\b", drawn)) > 12
    assert "…" not in re.sub(r"\S*…@", "", drawn)


def test_rows_of_a_coloured_matrix_are_equally_wide() -> None:
    drawn = bare(rendered(table, report([head()], view="matrix"), color="truecolor"))
    rows = [
        line for line in drawn.split("\n") if re.match(r" *(\[CLS\]|the(?:@\d)?|animal|~est|\.|\[SEP\]) [ \d]", line)
    ]
    assert len({cell_len(line.rstrip()) for line in rows}) <= 2
    assert len(rows) == 7


def test_wide_labels_keep_the_columns_straight() -> None:
    texts = ("日本", "👨\u200d👩\u200d👧", "cat", "é", "🇫🇷")
    drawn = rendered(table, report([head(texts)], texts, view="matrix"), unicode=True)
    rows = [line for line in drawn.split("\n") if re.search(r"\d.* \d", line) and "heads" not in line][:5]
    for row in rows:
        before = row[: re.search(r"(日本|👧|cat|é|🇫🇷) ", row).end()]  # type: ignore[union-attr]
        assert cell_len(before) == 5


def test_without_colour_no_escape_and_shades() -> None:
    drawn = rendered(table, report())
    assert "\x1b" not in drawn
    assert "▓" in drawn
    assert "shade by square root" in drawn


@pytest.mark.parametrize(("color", "code"), [("16", "\x1b[2m"), ("256", "48;5;"), ("truecolor", "48;2;")])
@pytest.mark.parametrize("dark", [True, False])
def test_colour(color: str, code: str, dark: bool) -> None:
    drawn = rendered(table, report(), color=color, dark=dark)
    assert code in drawn
    assert "colour by square root" in drawn
    assert "▓" not in drawn
    for line in drawn.split("\n"):
        assert not line.count("\x1b") or line.endswith("\x1b[0m")


def test_colour_changes_no_number() -> None:
    plain = re.sub(r"[░▒▓█]", " ", rendered(table, report(view="matrix")))
    colored = re.sub("█", " ", bare(rendered(table, report(view="matrix"), color="256")))
    rows = [[line.split() for line in text.split("\n")[3:-3]] for text in (plain, colored)]
    assert rows[0] == rows[1]


def test_ascii_only() -> None:
    made = replace(PICTURES["hidden"], model={"family": "模"}, title="é", shown="…", notes=(Note(text="→"),))
    drawn = rendered(table, made, stream=Stream("ascii"), unicode=False)
    assert drawn.isascii()
    assert "100" in drawn


def test_random_weights_and_warnings_are_loud() -> None:
    drawn = rendered(table, random_report(), color="truecolor")
    assert "▲ random weights, seed 7" in drawn
    assert re.search(r"\x1b\[[^m]*1;[^m]*m▲ rows do not sum to one", drawn)
    made = report(model={**report().model, "embeddings": "random", "seed": 7})
    assert "weights loaded, embeddings random, seed 7" in rendered(table, made)


def test_repeated_tokens_carry_their_position_in_lists() -> None:
    drawn = rendered(table, PICTURES["top"])
    assert "the@1" in drawn
    assert "the@8" in drawn
    assert "animal@" not in drawn


def test_the_query_view_names_its_query() -> None:
    drawn = rendered(table, PICTURES["query"])
    assert "animal@2 looks at" in drawn
    assert "the@8 looks at" in drawn


def test_only_lists_where_there_are_no_weights() -> None:
    made = head()
    drawn = rendered(table, report([Head(**{**made.__dict__, "attn": None})]))
    assert "│" in drawn
    assert "columns are keys" not in drawn


def test_lists_come_from_the_weights_where_the_report_has_none() -> None:
    made = head()
    assert rendered(table, report([Head(**{**made.__dict__, "top": ()})])) == rendered(table, report([made]))


def test_the_columns_kept_are_those_with_the_most_weight() -> None:
    attn = np.full((12, 12), 0.01, dtype=np.float32)
    attn[:, 7] = 0.5
    attn[:, 3] = 0.4
    texts = tuple("abcdefghijkl")
    drawn = rendered(table, report([head(texts, attn=attn)], texts), width=20)
    row = next(line for line in drawn.split("\n") if re.match("a .*[0-9]", line))
    assert "40" in row
    assert "50" in row
    assert row.index("40") < row.index("50")


def test_one_choice_of_columns_for_all_heads() -> None:
    drawn = rendered(table, PICTURES["wide"])
    blocks = drawn.split("\n\n")
    labels = [block.split("\n")[1:4] for block in blocks if block.startswith("L")]
    assert labels[0] == labels[1]


def test_long_texts_are_cut_to_forty_rows_and_say_so() -> None:
    for view in ("both", "top"):
        drawn = " ".join(rendered(table, report([head(MANY)], MANY, view=view)).split())
        assert "first 40 of 60" in drawn


def test_a_long_text_takes_three_lines_of_the_header() -> None:
    drawn = rendered(table, report(text="字" * 5000))
    assert sum("字" in line for line in drawn.split("\n")) <= 3
    assert " … " in drawn


@pytest.mark.parametrize("view", ["both", "matrix", "top", "query"])
def test_odd_heads(view: str) -> None:
    one = head(("a",), attn=np.ones((1, 1), dtype=np.float32))
    none = head(("a", "b"), attn=np.zeros((2, 2), dtype=np.float32))
    missing = head(("a", "b"), attn=np.full((2, 2), np.nan, dtype=np.float32), top=())
    blind = head(("a", "b"), visible=np.zeros((2, 2), dtype=bool))
    loose = head(("a", "b"), attn=np.array([[1.7, -0.2], [0.0, np.inf]], dtype=np.float32))
    for made in (one, none, missing, blind, loose):
        for width in (20, 80):
            drawn = rendered(table, report([made], view=view), width=width)
            assert "nan" not in drawn
    assert "███" in rendered(table, report([one], view="matrix"))
    assert ">1" in rendered(table, report([loose], view="matrix"))
    assert len(re.findall(r"(?m) -(?= |$)", rendered(table, report([missing], view="matrix")))) == 4


def test_no_heads() -> None:
    assert "tiny" in rendered(table, report([]))


def test_markup_is_text_everywhere() -> None:
    made = report(
        [head(("[red]", ":smile:"), role="[bold]")],
        ("[red]", ":smile:"),
        title="m[/]x",
        notes=(Note(text="[link=x] \x1b[2J"),),
        shown="[/INST]",
    )
    drawn = rendered(table, made, width=120)
    for text in ("m[/]x", "[red]", ":smile:", "[bold]", "[link=x] \\x1b[2J", "[/INST]"):
        assert text in drawn
