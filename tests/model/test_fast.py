"""The fast path where its shortcuts could go wrong: scores that exp cannot take, and what a layer holds on to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import attn_cli
from attn_cli.errors import CheckpointError
from attn_cli.model import plain
from attn_cli.model.attention import Attention
from attn_cli.model.fast import Slices
from attn_cli.model.weights import Weights
from tests.golden.test_parity import CASES
from tests.helpers import GOLDEN, assert_close

TEXT = "The dog slept beside the stove"
LARGE = 120.0  # exp of it is infinite in float32


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Attention]:
    """Each attention that runs, once the bounds of its scores were found to be right."""
    found: list[Attention] = []
    run = Slices.__init__

    def init(self: Slices, attention: Attention, computed: tuple[int, ...], *rest: Any) -> None:
        run(self, attention, computed, *rest)
        scores = attention.scaled @ np.repeat(attention.k, len(attention.scaled) // len(attention.k), 0).swapaxes(1, 2)
        bias = attention.bias(computed, range(scores.shape[1]), range(scores.shape[2]))
        for i, head in enumerate(computed):
            if bias is not None or attention.spec.sinks:
                assert self.bounds[i] == np.inf  # lengths say nothing of what is added
                continue
            lengths = [np.linalg.norm(a, axis=-1).max() for a in (attention.scaled[head], _keys(attention, head))]
            assert np.isclose(self.bounds[i], lengths[0] * lengths[1], rtol=1e-4)
            assert self.bounds[i] >= np.abs(scores[head]).max() * (1 - 1e-5)
        found.append(attention)

    monkeypatch.setattr(Slices, "__init__", init)
    return found


def _keys(attention: Attention, head: int) -> np.ndarray:
    keys: np.ndarray = attention.k[head * len(attention.k) // len(attention.scaled)]
    return keys


def larger(monkeypatch: pytest.MonkeyPatch, factor: float) -> None:
    """Queries so many times as long in every layer."""
    layer = Weights.layer

    def scaled(self: Weights, *args: Any, **kwargs: Any) -> Mapping[str, np.ndarray]:
        found = layer(self, *args, **kwargs)
        return {n: a * a.dtype.type(factor) if n.startswith("attn.q.") else a for n, a in found.items()}

    monkeypatch.setattr(Weights, "layer", scaled)


@pytest.mark.parametrize("case", CASES)
def test_no_score_exceeds_its_bound(case: str, seen: list[Attention]) -> None:
    model = attn_cli.load(GOLDEN / case)
    target = TEXT if model.decoder is not None else None
    for block in model.blocks(model.encode(TEXT, target=target)):
        del block
    assert seen


@pytest.mark.parametrize("case", ["bert", "llama", "bloom", "mpt", "deberta_v2", "gpt_oss", "t5"])
@pytest.mark.parametrize("threads", [1, 2])
def test_scores_that_exp_cannot_take(case: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = attn_cli.load(GOLDEN / case)
    kind = next(iter(model.kinds))
    tokens = model.encode(TEXT)
    traces = [plain_scores(model, tokens, layer) for layer in range(model.spec.n_layers)]
    larger(monkeypatch, LARGE / max(1e-9, min(traces)))
    assert max(plain_scores(model, tokens, layer) for layer in range(model.spec.n_layers)) > 88
    want = plain.kinds(model, tokens)[kind]
    for block in model.blocks(
        tokens, {kind: {i: tuple(range(model.spec.n_heads)) for i in range(len(want))}}, threads=threads
    ):
        q, k = block.queries, block.keys
        assert_close(block.attn, want[block.layer, :, q.start : q.stop, k.start : k.stop], 1e-3, case)


def plain_scores(model: attn_cli.Model, tokens: attn_cli.Tokens, layer: int) -> float:
    """The largest score of a layer, before the mask."""
    found = [0.0]
    for block in model.blocks(tokens, {next(iter(model.kinds)): {layer: tuple(range(model.spec.n_heads))}}):
        trace = block.trace(block.heads[0], block.queries.start)
        found += [float(np.abs(trace.biased).max())]
    return max(found)


def test_a_layer_is_let_go_when_the_next_one_runs(seen: list[Attention]) -> None:
    model = attn_cli.random_model(n_layers=5, n_heads=2, d_model=8)
    held = []
    for block in model.blocks(model.encode(TEXT)):
        held.append([a.layer for a in seen if a.q.size])
        del block
    assert held == [[layer] for layer in range(5)]


def broken(monkeypatch: pytest.MonkeyPatch, name: str, number: float) -> None:
    """One number of an array that is none, in every layer or in what stands around them."""
    for method in ("layer", "part"):
        read = getattr(Weights, method)

        def spoilt(self: Weights, *args: Any, read: Any = read, **kwargs: Any) -> Mapping[str, np.ndarray]:
            found = {n: a.copy() for n, a in read(self, *args, **kwargs).items()}
            if name in found:
                found[name].flat[0] = number
            return found

        monkeypatch.setattr(Weights, method, spoilt)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("case", "name", "said"),
    [
        ("bert", "weight", "head L0.H0, query 0: the attention weights do not sum to one"),  # of the embeddings' norm
        ("gpt2", "attn.q.weight", "head L0.H0, query 0: the attention weights do not sum to one"),
        ("t5", "cross.q.weight", "cross head L0.H0, query 0: the attention weights do not sum to one"),
        ("t5", "attn.o.weight", "encoder head L1.H0, query 0: the attention weights do not sum to one"),
    ],
)
def test_weights_that_are_no_numbers_are_named_without_a_warning(
    case: str, name: str, said: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = attn_cli.load(GOLDEN / case)
    tokens = model.encode(TEXT, target=TEXT if model.decoder is not None else None)
    broken(monkeypatch, name, np.inf)
    with pytest.raises(CheckpointError, match=said):
        list(model.blocks(tokens, threads=threads))


def test_values_that_are_no_numbers_are_named_where_they_count(monkeypatch: pytest.MonkeyPatch) -> None:
    model = attn_cli.load(GOLDEN / "gpt2")
    last = model.spec.n_layers - 1
    tokens = model.encode(TEXT)
    broken(monkeypatch, "attn.v.weight", np.nan)
    (block,) = model.blocks(tokens, {0: (0,)})  # before them, the weights are right
    with pytest.raises(CheckpointError, match=r"head L0.H0, key 0: its value is not finite"):
        block.value_norm  # noqa: B018
    with pytest.raises(CheckpointError, match=r"head L0.H0, query 2: the output is not finite"):
        block.trace(0, 2)
    monkeypatch.undo()
    broken(monkeypatch, "mlp.down.weight", np.nan)
    with pytest.raises(CheckpointError, match=r"head L1.H0|after the last layer"):
        model.attend(TEXT, f"{last}", keep=("hidden_states",))
