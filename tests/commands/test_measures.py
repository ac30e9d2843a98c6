"""Measures, folds and merged spans of `show`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attn_cli import load
from attn_cli.model import views
from tests.blocks import block, random_attn
from tests.commands.test_find import BERT, TEXT, document
from tests.commands.test_heads import out
from tests.helpers import GOLDEN, assert_close


def test_rollout_has_layers_and_no_heads() -> None:
    a = load(GOLDEN / "bert").attend(TEXT).attn
    want = np.eye(a.shape[-1])
    for layer in a:
        want = (layer.mean(0) + np.eye(len(want))) / 2 @ want
    (head,) = document("show", "-m", BERT, TEXT, "--measure", "rollout")["heads"]
    assert (head["layer"], head["head"], head["folded"]) == (len(a) - 1, None, f"L{len(a) - 1} rollout")
    assert_close(np.array(head["attn"]), want, 1e-5)
    every = document("show", "-m", BERT, TEXT, "--measure", "rollout", "-l", "all")
    assert [h["layer"] for h in every["heads"]] == list(range(len(a)))
    assert "residual stream half" in every["measure"]
    assert "no heads" in out("show", "-m", BERT, TEXT, "--measure", "rollout", "-H", "0", code=2)
    assert "no heads" in out("show", "-m", BERT, TEXT, "--measure", "rollout", "--mean", "heads", code=2)


def test_flow_needs_a_query_and_gives_its_row() -> None:
    assert "--query" in out("show", "-m", BERT, TEXT, "--measure", "flow", code=2)
    (head,) = document("show", "-m", BERT, TEXT, "--measure", "flow", "--query", "1")["heads"]
    assert head["queries"] == [1]
    assert 0 <= min(head["attn"][0]) <= max(head["attn"][0]) <= 1
    shown = " ".join(out("show", "-m", BERT, TEXT, "--measure", "flow", "--query", "1").split())
    assert "an upper bound, so rows do not sum to 100" in shown


@pytest.mark.parametrize("how", ["mean", "max"])
def test_folds(how: str) -> None:
    a = load(GOLDEN / "bert").attend(TEXT).attn
    reduce = getattr(np, how)
    heads = document("show", "-m", BERT, TEXT, f"--{how}", "heads")["heads"]
    assert_close(np.array([h["attn"] for h in heads]), reduce(a, axis=1), 1e-6)
    assert [h["head"] for h in heads] == [None] * len(a)
    layers = document("show", "-m", BERT, TEXT, f"--{how}", "layers")["heads"]
    assert_close(np.array([h["attn"] for h in layers]), reduce(a, axis=0), 1e-6)
    assert [h["layer"] for h in layers] == [None] * a.shape[1]
    (one,) = document("show", "-m", BERT, TEXT, f"--{how}", "heads,layers")["heads"]
    assert_close(np.array(one["attn"]), reduce(a, axis=(0, 1)), 1e-6)
    assert f"of {a.shape[1]} heads" in heads[0]["folded"]
    some = document("show", "-m", BERT, TEXT, f"--{how}", "heads", "-H", "0.0,0.1")["heads"]
    assert_close(np.array(some[0]["attn"]), reduce(a[0, :2], axis=0), 1e-6)


def test_what_cannot_be_folded() -> None:
    assert "contradict" in out("show", "a b", "--mean", "heads", "--max", "layers", code=2)
    assert "heads or layers?" in out("show", "a b", "--mean", "x", code=2)
    assert "same heads" in out("show", "-m", BERT, "a b", "--mean", "layers", "-H", "0.0,1.1", code=2)


def test_norm_rows_sum_to_one_and_given_attention_has_none(tmp_path: object) -> None:
    found = document("show", "-m", str(GOLDEN / "llama"), TEXT, "--measure", "norm")
    for head in found["heads"]:
        assert_close(np.array(head["attn"]).sum(-1), np.ones(len(found["tokens"])), 1e-5)
    words = document("show", "-m", str(GOLDEN / "llama"), TEXT, "--measure", "norm", "--words")
    assert words["merge"] == "words"


def test_merged_spans() -> None:
    plain = document("show", "-m", BERT, TEXT, "-H", "0.0")["heads"][0]
    found = document("show", "-m", BERT, TEXT, "-H", "0.0", "--merge", "slept beside")
    assert found["merge"] == "spans"
    (head,) = found["heads"]
    (span,) = [k for k in head["keys"] if isinstance(k, list)]
    assert_close(np.array(head["attn"]).sum(-1), np.ones(len(head["attn"])), 1e-5)
    row, at = head["keys"].index(span), np.array(plain["attn"])
    assert head["attn"][0][row] == pytest.approx(at[0, span].sum(), abs=1e-6)
    assert head["attn"][row][0] == pytest.approx(at[span, 0].mean(), abs=1e-6)
    ranged = document("show", "-m", BERT, TEXT, "-H", "0.0", "--merge", f"{span[0]}-{span[-1]}")
    assert ranged["heads"] == found["heads"]
    both = document("show", "-m", BERT, TEXT, "-H", "0.0", "--words", "--merge", "slept beside")
    assert len(both["heads"][0]["keys"]) < len(head["keys"])
    assert "not in the text" in out("show", "-m", BERT, TEXT, "--merge", "giraffe", code=2)
    assert "overlap" in out("show", "-m", BERT, TEXT, "--merge", "slept beside,slept", code=2)


def test_spans_of_the_source_in_an_encoder_decoder() -> None:
    args = ("show", "-m", str(GOLDEN / "bart"), "the dog slept", "--target", "a cat")
    found = document(*args, "--merge", "dog slept", "--kind", "cross")
    for head in found["heads"]:
        assert any(isinstance(k, list) and len(k) > 1 for k in head["keys"])


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 7), st.integers(1, 7))
def test_words_of_one_piece_change_nothing(seed: int, n: int, rows: int) -> None:
    attn = random_attn(seed, 2, n)
    made = [block(attn, rows=range(s, min(s + rows, n))) for s in range(0, n, rows)]
    of = made[0].query_tokens
    merged = list(views.merge(made, views.word_groups(of)))
    assert_close(np.concatenate([b.attn for b in merged], axis=1), attn, 1e-12)
    assert merged[0].query_tokens.texts == of.texts
