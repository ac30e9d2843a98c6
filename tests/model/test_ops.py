"""The small operations against their formulas, over the whole range of numbers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from math import erf, exp, sqrt, tanh

import numpy as np
import pytest

import attn_cli
from attn_cli.model import ops
from attn_cli.spec import Activation
from tests.helpers import GOLDEN


def sigmoid(x: float) -> float:
    return 1 / (1 + exp(-x)) if x > -700 else 0.0


EXACT: dict[Activation, Callable[[float], float]] = {
    "silu": lambda x: x * sigmoid(x),
    "quick_gelu": lambda x: x * sigmoid(1.702 * x),
    "gelu_tanh": lambda x: x * (1 + tanh(sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2,
    "gelu_erf": lambda x: x * (1 + erf(x / sqrt(2))) / 2,
}
NUMBERS = np.concatenate([np.linspace(-12, 12, 4801), np.logspace(1, 12, 60), -np.logspace(1, 12, 60), [0.0, 1e-30]])


@pytest.mark.parametrize("kind", EXACT)
@pytest.mark.parametrize(("dtype", "within"), [(np.float32, 1e-6), (np.float64, 1e-13)])
def test_activations_equal_their_formulas(kind: Activation, dtype: type, within: float) -> None:
    x = NUMBERS.astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ops.activate(x.copy(), kind)
    exact = np.array([EXACT[kind](float(v)) for v in x])
    assert found.dtype == dtype
    assert np.max(np.abs(found - exact) / np.maximum(1, np.abs(exact))) < within


@pytest.mark.parametrize("kind", EXACT)
def test_infinity_goes_through_and_nan_stays(kind: Activation) -> None:
    with np.errstate(all="ignore"):
        found = ops.activate(np.array([np.inf, np.nan], np.float32), kind)
    assert found[0] == np.inf or np.isnan(found[0])  # a product of infinities in between: found by the sums of the rows
    assert np.isnan(found[1])


def test_an_activation_of_columns_that_lie_apart() -> None:
    x = np.linspace(-4, 4, 60, dtype=np.float32).reshape(6, 10)
    assert np.array_equal(ops.activate(x.T.copy().T, "gelu_erf"), ops.activate(x.copy(), "gelu_erf"))


@pytest.mark.parametrize("shift", [False, True])
@pytest.mark.parametrize("sink", [None, -3.0, 2.5])
def test_softmax_with_and_without_a_sink(sink: float | None, shift: bool) -> None:
    scores = np.random.default_rng(0).normal(size=(5, 33)).astype(np.float32) * 3
    joined = scores if sink is None else np.hstack([scores, np.full((5, 1), sink, np.float32)])
    wide = np.exp(joined.astype(float) - joined.max(-1, keepdims=True))
    want = (wide / wide.sum(-1, keepdims=True))[:, :33]
    found = scores.copy()
    found /= ops.exponentials(found, None if sink is None else np.float32(sink), shift=shift)
    assert np.abs(found - want).max() < 1e-6


def test_large_scores_and_a_larger_sink_are_shifted_unless_told_otherwise() -> None:
    scores = np.array([[500.0, 499.0], [-500.0, -501.0]], np.float32)
    assert np.allclose(ops.softmax(scores.copy()), [[0.7310586, 0.2689414]] * 2)
    total = ops.exponentials(scores, np.float32(600))
    assert np.allclose(total, 1)  # the sink takes all of it
    assert np.allclose(scores, 0)


def test_the_norms_of_a_row() -> None:
    x = np.random.default_rng(1).normal(3, 2, (4, 7)).astype(np.float32)
    layer = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    root = x / np.sqrt((x.astype(float) ** 2).mean(-1, keepdims=True) + 1e-5)
    spec = replace(attn_cli.load(GOLDEN / "bert").spec, norm_eps=1e-5)
    gain = np.linspace(0.5, 2, 7, dtype=np.float32)
    for norm, want in (("layer", layer), ("rms", root)):
        found = ops.norm(x, {"n.weight": gain, "n.bias": gain}, "n.", replace(spec, norm=norm))
        assert np.abs(found - (want * gain + gain)).max() < 2e-6
