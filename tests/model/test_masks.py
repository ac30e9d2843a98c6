"""What blocks say of masks, sinks and caps: windows and causality, equal weights, and each step of a trace."""

from __future__ import annotations

import numpy as np
import pytest

import attn_cli
from attn_cli.model import plain
from tests.helpers import GOLDEN, assert_close

LONG = "the animal did not cross the street because it was too tired to walk home and then it was not too long"
WINDOWED = ["gpt_neo", "mistral", "gemma2", "gemma3_text", "gpt_oss", "starcoder2", "cohere2", "olmo3"]


@pytest.mark.parametrize("rows", [1, 3, 100])
@pytest.mark.parametrize("case", WINDOWED)
def test_windows(case: str, rows: int) -> None:
    model = attn_cli.load(GOLDEN / case)
    tokens = model.encode(LONG)
    assert any(model.spec.windows)
    for block in model.blocks(tokens, block_rows=rows):
        seen = [[plain.sees(model.spec, block.layer, q, k) for k in block.keys] for q in block.queries]
        assert (block.mask == np.array(seen)).all()
        hidden = [k for k in range(len(tokens)) if k not in block.keys]
        assert not any(plain.sees(model.spec, block.layer, q, k) for q in block.queries for k in hidden)
        assert not block.attn[:, ~block.mask].any()
        window = model.spec.window_at(block.layer)
        assert window is None or len(block.keys) < rows + window
        assert_close(block.uniform().sum(-1), np.ones(len(block.queries)), 1e-12)


def test_rows_with_sinks_sum_to_less_than_one() -> None:
    model = attn_cli.load(GOLDEN / "gpt_oss")
    for block in model.blocks(model.encode(LONG), block_rows=4):
        total = block.attn.sum(-1)
        assert (total < 1).all()
        assert (total > 0).all()
        trace = block.trace(1, block.queries.start)
        assert trace.sink is not None
        top = max(trace.masked.max(), trace.sink)
        kept = np.exp(trace.masked - top).sum()
        assert_close(np.array(total[1, 0]), kept / (kept + np.exp(trace.sink - top)), 1e-5)


def test_a_trace_caps_before_it_masks() -> None:
    model = attn_cli.load(GOLDEN / "gemma2")
    cap = model.spec.softcap
    assert cap is not None
    block = next(iter(model.blocks(model.encode(LONG))))
    trace = block.trace(0, 9)
    assert_close(trace.capped, cap * np.tanh(trace.scaled / cap), 1e-6)
    assert_close(trace.biased, trace.capped, 0)
    assert np.isneginf(trace.masked[: 9 - 3]).all()
    assert_close(trace.weights, block.attn[0, 9], 1e-6)


@pytest.mark.parametrize("case", ["bloom", "mpt", "falcon_alibi"])
def test_a_trace_shows_what_distance_adds(case: str) -> None:
    model = attn_cli.load(GOLDEN / case)
    text = "Only two of" if case == "falcon_alibi" else LONG
    for block in model.blocks(model.encode(text)):
        query = len(block.queries) - 1
        trace = block.trace(2, query)
        added = trace.biased - trace.capped
        assert (np.diff(added) > 0).all()  # the nearer, the more
        assert_close(trace.weights, block.attn[2, query], 1e-6)


@pytest.mark.parametrize("case", ["mistral", "gemma2", "mpt", "olmo", "granite"])
def test_value_norms_are_those_of_the_definition(case: str) -> None:
    model = attn_cli.load(GOLDEN / case)
    for block in model.blocks(model.encode(LONG), block_rows=5):
        w = model.weights.layer(block.layer, "attn.o.")["attn.o.weight"]
        d = model.spec.d_head
        for head in (0, model.spec.n_heads - 1):
            values = block.trace(head, block.queries.start).v[block.keys.start : block.keys.stop]
            want = np.linalg.norm(values @ w[:, head * d : (head + 1) * d].T, axis=-1)
            assert_close(block.value_norm[head], want, 1e-5)


def test_only_experts_that_a_token_chose_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    model = attn_cli.load(GOLDEN / "mixtral")
    read: list[int] = []
    inner = model.weights.expert
    monkeypatch.setattr(model.weights, "expert", lambda layer, e: (read.append(e), inner(layer, e))[1])
    model.attend("the", keep=("hidden_states",))
    assert set(read) < set(range(model.spec.n_experts)) or len(read) <= 2 * 2 * model.spec.n_layers
    assert len(read) <= model.spec.n_layers * model.spec.n_experts_used * 2  # two tokens
