from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from attn_cli.render._text import fit, graphemes, label, visible, width

from .reports import HOSTILE


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("cat", "cat"),
        (" cat", " cat"),
        (" ", "␣"),
        ("   ", "␣␣␣"),
        ("  x", "␣␣x"),
        ("x  ", "x␣␣"),
        (" \n", "␣↵"),
        ("a b", "a b"),
        ("\n", "↵"),
        ("\t", "⇥"),
        ("\r", "␍"),
        ("\x1b[31m", r"\x1b[31m"),
        ("\x00\x7f\x9b", r"\x00\x7f\x9b"),
        ("\u202eabc", r"\u202eabc"),
        ("a\u200bb\u00ad\ufeff", r"a\u200bb\xad\ufeff"),
        ("\ud83d", r"\ud83d"),
        ("\U000e0041", r"\U000e0041"),
        ("\u2028\u00a0\u3000", r"\u2028\xa0\u3000"),
        ("\uffff", r"\uffff"),
        ("[/INST] [red] :smile:", "[/INST] [red] :smile:"),
        ("日本 é", "日本 é"),
        ("👨\u200d👩\u200d👧 ❤\ufe0f 👍🏽 1\ufe0f", "👨\u200d👩\u200d👧 ❤\ufe0f 👍🏽 1\ufe0f"),
        ("a\u200db a\ufe0f", r"a\u200db a\ufe0f"),
        ("\u200d", r"\u200d"),
        ("e\u0301", "e\u0301"),
        ("\u0301", "◌\u0301"),
        ("\u3164", r"\u3164"),
        ("", ""),
    ],
)
def test_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("text", "encoding", "shown"),
    [
        ("日é", "ascii", r"\u65e5\xe9"),
        ("日é", "cp1252", r"\u65e5é"),
        ("👍", "cp1252", r"\U0001f44d"),
        ("日é", "shift_jis", r"日\xe9"),
        (" ", "ascii", r"\s"),
        ("\n\t\r", "cp1252", r"\n\t\r"),
        ("é", "no-such-encoding", r"\xe9"),
    ],
)
def test_visible_within_an_encoding(text: str, encoding: str, shown: str) -> None:
    assert visible(text, encoding) == shown


@given(st.text(alphabet=st.characters(codec=None)) | st.sampled_from(HOSTILE))
def test_visible_is_one_safe_line(text: str) -> None:
    shown = visible(text)
    kinds = {unicodedata.category(char) for char in shown if char != "\u200d"}
    assert not kinds & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert bool(shown) == bool(text)
    assert not text or width(shown) > 0
    visible(text, "ascii").encode("ascii")
    visible(text, "cp1252").encode("cp1252")


@pytest.mark.parametrize(
    ("text", "continues", "shown"),
    [
        (" cat", False, "cat"),
        ("cat ", False, "cat"),
        ("  cat", False, "␣␣cat"),
        (" ", False, "␣"),
        ("ing", True, "~ing"),
        ("", False, '""'),
    ],
)
def test_label(text: str, continues: bool, shown: str) -> None:
    assert label(text, continues=continues) == shown


def test_graphemes_keep_sequences_whole() -> None:
    assert graphemes("a👨\u200d👩\u200d👧e\u0301🇫🇷❤\ufe0f") == [
        "a",
        "👨\u200d👩\u200d👧",
        "e\u0301",
        "🇫🇷",
        "❤\ufe0f",
    ]


@given(st.text(alphabet=st.characters(codec=None)).map(visible), st.integers(0, 12))
def test_fit_keeps_within_its_cells(text: str, cells: int) -> None:
    cut = fit(text, cells)
    assert cell_len(cut) <= cells
    assert cut == text or cut == "" or cut.endswith("…")


def test_fit_never_tears_a_wide_character() -> None:
    assert fit("日本語", 4) == "日…"
    assert fit("日本語", 6) == "日本語"
