"""Marks on tokens' names, which are said in the caption where they occur, and the roles of heads."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from attn_cli.render import svg, table
from attn_cli.report import Axis, Column, Label, Report, Special, Table

from .reports import Stream, head, rendered, report

ROLE = "pronoun -> its noun"


def _axis(
    texts: tuple[str, ...],
    special: tuple[Special | None, ...] = (),
    continues: tuple[int, ...] = (),
    unknown: tuple[int, ...] = (),
) -> Axis:
    return Axis(
        positions=tuple(range(len(texts))),
        texts=texts,
        special=special or (None,) * len(texts),
        continues=tuple(i in continues for i in range(len(texts))),
        repeated=tuple(texts.count(text) > 1 for text in texts),
        unknown=tuple(i in unknown for i in range(len(texts))),
    )


def _drawn(axis: Axis, view: Any = "both", width: int = 100, **fields: Any) -> str:
    made = head(axis.texts)
    made = replace(made, queries=axis, keys=axis, **fields)
    return rendered(table, report([made], axis.texts, view=view), width=width)


TYPED = _axis(("[CLS]", "a", "[SEP]", "b", "[SEP]"), ("added", None, "typed", None, "added"))


@pytest.mark.parametrize("view", ["both", "matrix", "top"])
def test_a_typed_special_token_is_marked_and_an_added_one_is_not(view: str) -> None:
    drawn = _drawn(TYPED, view)
    rows = re.findall(r"(?m)^ *(\S+) (?=[\d │])", drawn)
    assert "[SEP]*@2" in rows
    assert "[SEP]@4" in rows
    assert drawn.count("* special token typed in the text, not added") == 1


def test_a_typed_special_token_is_marked_in_its_column_and_where_it_is_asked_for() -> None:
    above = _drawn(TYPED, "matrix").partition("L0.H0")[2].partition("\n   [CLS] ")[0]
    assert above
    assert above.count("*") == 1
    long = _axis(("<|im_start|>", "a"), ("typed", None))
    assert re.search(r"\n +⋮ *\n +\* +a *\n", _drawn(long, "matrix"))
    assert "[SEP]*@2 looks at" in _drawn(TYPED, "query")


def test_without_typed_special_tokens_nothing_is_said_of_them() -> None:
    drawn = rendered(table, report())
    assert "typed" not in drawn
    assert "*" not in drawn


def test_equal_rows_of_a_matrix_carry_their_positions() -> None:
    texts = ("the", "cat", "saw", "the", "cat")
    rows = re.findall(r"(?m)^ *((?:the|cat|saw)(?:@\d)?) [\d █]", _drawn(_axis(texts), "matrix"))
    assert rows == ["the@0", "cat@1", "saw", "the@3", "cat@4"]


def test_positions_of_rows_cost_no_column() -> None:
    texts = ("the", "cat", "the", "cat", "the", "cat")  # 3 + 1 + 6 * 3 cells without positions
    narrow = _drawn(_axis(texts), "matrix", width=22)
    assert "columns shown" not in narrow
    assert "@" not in narrow
    # where a longer name makes room, positions are free
    mixed = _drawn(_axis((*texts[:5], "animal")), "matrix", width=25)
    assert "columns shown" not in mixed
    assert "the@2" in mixed


@pytest.mark.parametrize("width", [20, 24, 30])
def test_positions_stay_where_columns_are_left_out(width: int) -> None:
    texts = ("anything", "something") * 10
    drawn = _drawn(_axis(texts), "matrix", width=width)
    assert "columns shown" in " ".join(drawn.split())
    labels = re.findall(r"(?m)^ *(\S+@\d+) ", drawn)
    assert len(labels) == len(set(labels)) == 20


def test_marks_are_explained_where_they_occur() -> None:
    axis = _axis(("token", "izing", "\U0001f917[1/3]", "\U0001f917[2/3]", " ", "\n"), continues=(1,))
    drawn = " ".join(_drawn(axis).split())
    for said in ("~ goes on with the word before", "␣ a space", "↵ a line break", "[1/3] part of a character"):
        assert drawn.count(said) == 1
    assert "a tab" not in drawn
    plain = _drawn(_axis(("the", "cat")))
    for said in ("goes on", "a space", "part of a character", "a line break"):
        assert said not in plain


def test_marks_that_are_not_drawn_are_not_explained() -> None:
    weights = np.eye(3, dtype=np.float32)
    axis = _axis(("token", "izing", " "), continues=(1,))
    one = _axis(("token",))
    made = head(axis.texts, attn=weights)
    asked = replace(made, queries=one, keys=axis, attn=weights[:1], top=())
    drawn = rendered(table, report([asked], axis.texts, view="query"))
    assert "token@0 looks at" in drawn
    assert "goes on" not in drawn
    assert "a space" not in drawn


def test_marks_of_a_table_are_explained() -> None:
    rows = ((Label(text="izing", continues=True),), (Label(text=" "),))
    made = Table(name="heads", columns=(Column(name="key", title="key", kind="token"),), rows=rows)
    drawn = " ".join(rendered(table, report([], tables=(made,))).split())
    assert "~ goes on with the word before" in drawn
    assert "␣ a space" in drawn


@pytest.mark.parametrize("view", ["both", "matrix", "top"])
def test_a_text_that_the_vocabulary_lacks_is_marked_and_the_mark_explained(view: str) -> None:
    drawn = _drawn(_axis(("[CLS]", "\u5c0f", "\u72d7", "\u72d7"), unknown=(2, 3)), view)
    rows = re.findall(r"(?m)^ *(\S+) (?=[\d │])", drawn)
    assert [row for row in rows if "?" in row] == ["\u72d7?@2", "\u72d7?@3"]
    assert drawn.count("? after a word: not in the vocabulary") == 1


def test_an_unknown_token_of_a_table_is_marked() -> None:
    rows = ((Label(text="\u72d7", position=2, unknown=True),), (Label(text="what"),))
    made = Table(name="heads", columns=(Column(name="key", title="key", kind="token"),), rows=rows)
    drawn = rendered(table, report([], tables=(made,)))
    assert "\u72d7?@2" in drawn
    assert "? after a word" in drawn
    plain = Table(name="heads", columns=made.columns, rows=((Label(text="what?"),),))
    assert "after a word" not in rendered(table, report([], tables=(plain,)))


def test_marks_in_ascii() -> None:
    axis = _axis(("token", "izing", " "), ("typed", None, None), (1,))
    made = head(axis.texts)
    made = replace(made, queries=axis, keys=axis)
    drawn = rendered(table, report([made], axis.texts), stream=Stream("ascii"), unicode=False)
    assert drawn.isascii()
    assert r"\s a space" in drawn
    assert "* special token typed" in drawn


def _queried(view: Any = "query") -> Report:
    roles = {(3, 0): ROLE, (3, 2): "previous token", (2, 1): "previous token"}
    heads = [head(name=(n, h), queries=[2, 8], role=roles.get((n, h))) for n in (2, 3) for h in range(3)]
    return report(heads, view=view)


@pytest.mark.parametrize("width", [40, 80, 100, 105, 120, 200])
def test_the_query_view_says_the_roles_of_heads_at_any_width(width: int) -> None:
    drawn = rendered(table, _queried(), width=width)
    said = " ".join(drawn.split())
    assert said.count(f"L3.H0: {ROLE} (model card)") == 1
    assert said.count("L2.H1, L3.H2: previous token (model card)") == 1
    rows = [line for line in drawn.split("\n") if re.match(r"L\d\.H\d  ", line)]
    bare = rendered(
        table, report([type(h)(**{**h.__dict__, "role": None}) for h in _queried().heads], view="query"), width=width
    )
    assert rows == [line for line in bare.split("\n") if re.match(r"L\d\.H\d  ", line)]


def test_roles_are_in_the_svg_of_a_query() -> None:
    words = " ".join(re.findall(r"<text [^>]*>([^<]*)</text>", rendered(svg, _queried())))
    assert "L3.H0: pronoun -&gt; its noun" in words


def test_roles_are_said_once_in_a_matrix() -> None:
    drawn = rendered(table, _queried("matrix"), width=120)
    assert drawn.count("pronoun") == 1
    assert drawn.count("after a head's name: what the model card says of it") == 1
    assert "model card" not in rendered(table, report(view="matrix"))
