"""Addresses of layers, heads and tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import attn_cli
from attn_cli.errors import UsageError
from attn_cli.select import parse_heads, parse_tokens
from tests.helpers import GOLDEN

ALL4 = (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("layer", "head", "want"),
    [
        (None, None, {0: ALL4, 1: ALL4, 2: ALL4}),
        ("all", None, {0: ALL4, 1: ALL4, 2: ALL4}),
        ("1", None, {1: ALL4}),
        ("-1", None, {2: ALL4}),
        ("0-1,2", None, {0: ALL4, 1: ALL4, 2: ALL4}),
        ("1", "2", {1: (2,)}),
        ("1", "-1,0", {1: (0, 3)}),
        (None, "2", {0: (2,), 1: (2,), 2: (2,)}),
        (None, "1.2", {1: (2,)}),
        (None, "L1.H2", {1: (2,)}),
        (None, "l1.h2,0.0", {0: (0,), 1: (2,)}),
        (None, "all.1", {0: (1,), 1: (1,), 2: (1,)}),
        (None, "2.all", {2: ALL4}),
        (None, "0-1.2-3", {0: (2, 3), 1: (2, 3)}),
        (None, "-1.-1", {2: (3,)}),
    ],
)
def test_heads(layer: str | None, head: str | None, want: dict[int, tuple[int, ...]]) -> None:
    assert parse_heads(layer, head, {layer: ALL4 for layer in range(3)}) == want


@pytest.mark.parametrize(
    ("layer", "head", "says"),
    [
        ("3", None, "there is no layer 3"),
        ("99999999999999999999", None, "no layer"),
        ("x", None, "'?x'? is not a layer"),
        ("", None, "empty part"),
        ("2-1", None, "no layer 2-1"),
        ("-4", None, "no layer -4"),
        ("²", None, "not a layer"),
        (None, "4", "there is no head 4"),
        (None, "1.9", "there is no head 9"),
        ("2", "3.1", "named twice"),
        (None, "1.", "not a head"),
    ],
)
def test_heads_that_do_not_exist(layer: str | None, head: str | None, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        parse_heads(layer, head, {layer: ALL4 for layer in range(3)})
    assert caught.value.hint


SAVED = {3: (1, 2), 5: (8,)}  # as a file of a few heads has them


@pytest.mark.parametrize(
    ("layer", "head", "want"),
    [
        (None, None, SAVED),
        ("-1", None, {5: (8,)}),
        ("3-5", None, SAVED),
        (None, "1", {3: (1,)}),
        (None, "all.8", {5: (8,)}),
        (None, "3.-1", {3: (2,)}),
        ("3", "all", {3: (1, 2)}),
    ],
)
def test_heads_are_chosen_among_those_that_are_there(
    layer: str | None, head: str | None, want: dict[int, tuple[int, ...]]
) -> None:
    assert parse_heads(layer, head, SAVED) == want


@pytest.mark.parametrize(
    ("layer", "head", "says", "hint"),
    [
        ("0-5", None, "there is no layer 0-5", "there are layers 3,5"),
        ("-3", None, "there is no layer -3", "there are layers 3,5"),
        (None, "0", "there is no head 0", "there are heads 1-2,8"),
        ("3", "0", "there is no head 0", "heads run from 1 to 2"),
        (None, "5.1", "there is no head 1", "there is only head 8"),
    ],
)
def test_what_is_not_there_is_told_from_what_is(layer: str | None, head: str | None, says: str, hint: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        parse_heads(layer, head, SAVED)
    assert caught.value.hint == hint


TEXT = "It saw it, and IT saw 7 cats didn't it"


def found(address: str, text: str = TEXT) -> list[str]:
    tokens = attn_cli.random_model().encode(text)
    return ["".join(tokens.texts[i] for i in m.positions) for m in parse_tokens(address, tokens)]


def places(address: str, text: str = TEXT) -> list[int]:
    tokens = attn_cli.random_model().encode(text)
    return [i for m in parse_tokens(address, tokens) for i in m.positions]


def test_a_text_matches_whole_words_and_exact_case_first() -> None:
    assert set(found("it")) == {"it"}
    assert found("IT") == ["IT"]
    assert found("iT") == ["It", "it", "IT", "it"]


def test_positions_ranges_and_numbers_as_text() -> None:
    n = len(attn_cli.random_model().encode(TEXT))
    assert places("0") == [0]
    assert places("-1") == [n - 1]
    assert places("2-4") == [2, 3, 4]
    assert found("text:7") == ["7"]
    assert places("0,2-3,0") == [0, 2, 3]


def test_one_of_several() -> None:
    first, second = places("it")
    assert places(f"it@{second}") == [second]
    with pytest.raises(UsageError, match="does not stand at 1") as caught:
        places("it@1")
    assert str(first) in caught.value.hint


def test_a_word_of_several_pieces_and_a_run_of_words() -> None:
    tokens = attn_cli.load(GOLDEN / "bert").encode("Only two of")
    (match,) = parse_tokens("only", tokens)
    assert match.positions == (1, 2, 3)
    assert found("didn't") == ["didn't"]
    assert found("saw it", TEXT) == ["sawit"]


def test_what_is_not_there_names_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"'?cast'? is not in the text") as caught:
        places("cast")
    assert caught.value.hint == "nearest: 'cats'"
    for far in ("dog", "[SEB]"):
        with pytest.raises(UsageError, match="not in the text") as caught:
            parse_tokens(far, attn_cli.load(GOLDEN / "bert").encode("on two of"))
        assert caught.value.hint == "give a word of the text, or a position from 0 to 7"
    with pytest.raises(UsageError, match="no such position"):
        places("999")
    with pytest.raises(UsageError, match="is empty"):
        places("  ")


def test_special_tokens_by_name() -> None:
    tokens = attn_cli.load(GOLDEN / "bert").encode("on")
    assert [m.positions for m in parse_tokens("[CLS]", tokens)] == [(0,)]


@given(st.text(max_size=12))
def test_any_address_is_found_or_refused(address: str) -> None:
    tokens = attn_cli.load(GOLDEN / "bert").encode("on two of")
    try:
        matches = parse_tokens(address, tokens)
    except UsageError:
        matches = ()
    assert all(0 <= p < len(tokens) for m in matches for p in m.positions)
