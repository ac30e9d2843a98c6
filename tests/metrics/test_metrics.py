"""Metrics by their definitions on hand-made attention, and the laws they must obey."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attn_cli
from attn_cli import registry
from attn_cli.collect.mean import Mean, Score
from attn_cli.metrics.local import REACH
from tests.blocks import block, random_attn, tokens
from tests.helpers import GOLDEN, assert_close

NAMES = registry.names("metrics")
METRICS = {name: registry.get("metrics", name) for name in NAMES}
TEXTS = ("[CLS]", "a", "b", ",", "a", "b", "[SEP]")
N = len(TEXTS)


def pattern(wanted: list[int | None]) -> np.ndarray:
    """(1, n, n): each query looks at one key; at itself where nothing is wanted."""
    attn = np.zeros((1, N, N))
    for i, key in enumerate(wanted):
        attn[0, i, i if key is None else key] = 1
    return attn


def score(name: str, attn: np.ndarray, **how: bool) -> np.ndarray:
    """The scores of the first head."""
    found: np.ndarray = METRICS[name].score(block(attn, TEXTS, **how))[0]
    return found


PERFECT: dict[str, list[int | None]] = {
    "previous_token": [None, 0, 1, 2, 3, 4, 5],
    "next_token": [1, 2, 3, 4, 5, 6, None],
    "self_token": [0, 1, 2, 3, 4, 5, 6],
    "first_token": [0] * N,
    "special": [6] * N,
    "punctuation": [3] * N,
    "duplicate": [None, None, None, None, 1, 2, None],
    "induction": [None, None, None, None, 2, 3, None],
    "local": [0, 1, 2, 3, 4, 5, 6],
}
APPLIES = {
    "previous_token": N - 1,
    "next_token": N - 1,
    "self_token": N,
    "first_token": N - 1,
    "special": N,
    "punctuation": N,
    "duplicate": 2,
    "induction": 2,
    "local": N,
}


@pytest.mark.parametrize("name", PERFECT)
def test_a_perfect_pattern_scores_one_and_the_others_do_not(name: str) -> None:
    found = score(name, pattern(PERFECT[name]))
    known = found[~np.isnan(found)]
    assert len(known) == APPLIES[name]
    assert (known == 1).all()
    away = score(name, np.roll(pattern(PERFECT[name]), 3, axis=2))
    assert np.nanmean(away) < 1


def test_every_metric_of_a_share_is_checked_on_a_perfect_pattern() -> None:
    assert {n for n, m in METRICS.items() if m.UNIT == "share"} == set(PERFECT)


def test_induction_looks_at_what_came_after_and_not_at_the_copy() -> None:
    duplicate = pattern(PERFECT["duplicate"])
    assert np.nanmax(score("induction", duplicate)) == 0
    # a a: what came after the first is the second itself, which is no finding
    twice = block(np.ones((1, 2, 2)) / 2, ("a", "a"))
    assert np.isnan(METRICS["induction"].score(twice)).all()


def test_two_copies_add_up() -> None:
    texts = ("x", "p", "x", "q", "x")
    attn = np.zeros((1, 5, 5))
    attn[0, 4] = (0.1, 0.2, 0.15, 0.25, 0.3)
    made = block(attn, texts, causal=True)
    assert METRICS["induction"].score(made)[0, 4] == pytest.approx(0.2 + 0.25)
    assert METRICS["duplicate"].score(made)[0, 4] == pytest.approx(0.1 + 0.15)


def test_a_causal_model_has_no_next_token_and_its_first_row_no_choice() -> None:
    attn = random_attn(1, 1, N, causal=True)
    assert np.isnan(score("next_token", attn, causal=True)).all()
    assert np.isnan(score("self_token", attn, causal=True)[0])
    assert np.isnan(score("spread", attn, causal=True)[0])
    assert not np.isnan(score("self_token", attn, causal=True)[1:]).any()


def test_entropy_and_its_kin() -> None:
    attn = np.zeros((1, 4, 4))
    attn[0] = [(1, 0, 0, 0), (0.5, 0.5, 0, 0), (0.25,) * 4, (0.5, 0.25, 0.25, 0)]
    made = block(attn)
    assert METRICS["entropy"].score(made)[0].tolist() == [0, 1, 2, 1.5]
    assert METRICS["spread"].score(made)[0].tolist() == [0, 0.5, 1, 0.75]
    assert_close(METRICS["effective_keys"].score(made)[0], np.array([1, 2, 4, 2**1.5]), 1e-12)


def test_rows_with_a_sink_are_taken_as_what_is_left_of_them() -> None:
    whole = random_attn(3, 2, 6)
    for name in ("entropy", "spread", "effective_keys", "distance"):
        assert_close(METRICS[name].score(block(whole * 0.3)), METRICS[name].score(block(whole)), 1e-9, name)


def test_distance_and_surroundings() -> None:
    attn = np.zeros((1, 8, 8))
    attn[0, 0, 7] = 1
    attn[0, 3, (1, 7)] = 0.25, 0.75
    made = block(attn)
    assert METRICS["distance"].score(made)[0, [0, 3]].tolist() == [7, 0.25 * 2 + 0.75 * 4]
    assert METRICS["local"].score(made)[0, 3] == (0.25 if REACH >= 2 else 0)


def test_cross_attention_has_no_distances() -> None:
    made = block(random_attn(0, 1, 4))
    other = tokens(["p", "q", "r", "s"])
    from dataclasses import replace

    crossing = replace(made, key_tokens=other)
    for name in ("previous_token", "next_token", "self_token", "distance", "local", "induction", "duplicate"):
        assert np.isnan(METRICS[name].score(crossing)).all(), name
    assert not np.isnan(METRICS["first_token"].score(crossing)).any()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("causal", [False, True])
def test_equal_weights_score_the_baseline(name: str, causal: bool) -> None:
    even = np.tril(np.ones((N, N))) if causal else np.ones((N, N))
    attn = np.repeat((even / even.sum(-1, keepdims=True))[None], 2, axis=0)
    made = block(attn, TEXTS, causal=causal)
    assert_close_or_nan(METRICS[name].score(made)[1], METRICS[name].score(made.null())[0])
    mean = Mean({name: METRICS[name]})
    mean.add(made)
    found = mean.scores()["self", 0, 1][name]
    assert np.isnan(found.mean) == (found.queries == 0)
    assert found.queries == 0 or found.mean == pytest.approx(found.baseline, abs=1e-12)


def assert_close_or_nan(got: np.ndarray, want: np.ndarray, atol: float = 1e-9) -> None:
    """Equal where both are known, and unknown at the same places."""
    assert (np.isnan(got) == np.isnan(want)).all()
    assert_close(np.nan_to_num(got), np.nan_to_num(want), atol)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.booleans())
def test_laws(seed: int, n: int, causal: bool) -> None:
    attn = random_attn(seed, 3, n, causal)
    words = np.random.default_rng(seed).choice(["a", "b", ",", "[S]"], n).tolist()
    made = block(attn, words, causal=causal)
    order = [2, 0, 1]
    permuted = block(attn[order], words, causal=causal)
    for name, metric in METRICS.items():
        found = metric.score(made)
        assert_close_or_nan(metric.score(permuted), found[order], 0)
        known = found[~np.isnan(found)]
        assert ((known >= metric.RANGE[0] - 1e-9) & (known <= metric.RANGE[1] + 1e-9)).all(), name
    seen = made.mask.sum(-1)
    assert (METRICS["entropy"].score(made) <= np.log2(seen)).all()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.integers(1, 12), st.booleans())
def test_slices_give_the_same_means(seed: int, n: int, rows: int, causal: bool) -> None:
    attn = random_attn(seed, 2, n, causal)
    words = np.random.default_rng(seed).choice(["a", "b", "c", "."], n).tolist()
    whole, sliced = Mean(METRICS), Mean(METRICS)
    whole.add(block(attn, words, causal=causal))
    for start in range(0, n, rows):
        sliced.add(block(attn, words, causal=causal, rows=range(start, min(start + rows, n))))
    for address, scores in whole.scores().items():
        for name, one in scores.items():
            other = sliced.scores()[address][name]
            assert one.queries == other.queries, name
            for a, b in ((one.mean, other.mean), (one.baseline, other.baseline)):
                assert a == pytest.approx(b, abs=1e-9, nan_ok=True), name


@pytest.mark.parametrize("model", ["bert", "gpt2", "gpt_neo", "gpt_oss"])
def test_a_model_gives_the_same_scores_in_any_slices(model: str) -> None:
    loaded = attn_cli.load(GOLDEN / model)
    text = loaded.encode("the dog slept, the dog slept beside the stove.")
    found: list[dict[tuple[str, int, int], dict[str, Score]]] = []
    for rows in (None, 3):
        mean = Mean(METRICS)
        for made in loaded.blocks(text, block_rows=rows):
            mean.add(made)
        found.append(mean.scores())
    for address, scores in found[0].items():
        for name, one in scores.items():
            assert one.mean == pytest.approx(found[1][address][name].mean, abs=1e-5, nan_ok=True), (address, name)


def test_only_the_queries_asked_for_count() -> None:
    mean = Mean({"previous_token": METRICS["previous_token"]}, range(2, 4))
    mean.add(block(pattern(PERFECT["previous_token"]), TEXTS))
    assert mean.scores()["self", 0, 0]["previous_token"].queries == 2
