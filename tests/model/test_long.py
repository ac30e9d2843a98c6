"""What a long text costs, and who is told how far it is."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

import attn_cli
from attn_cli.model import Model, plain
from attn_cli.model.pool import Work
from attn_cli.tokens import Tokens
from tests.helpers import GOLDEN, assert_close

TEXT = "The dog slept beside the stove"


class Watch:
    """A `progress` that remembers what it was told."""

    def __init__(self) -> None:
        self.total = self.taken = 0
        self.closed = False

    def __call__(self, items: Iterable[object], total: int) -> Iterable[object]:
        self.total += total
        try:
            for item in items:
                self.taken += 1
                yield item
        finally:
            self.closed = True


@pytest.mark.parametrize("case", ["bert", "gpt2", "t5"])
@pytest.mark.parametrize("threads", [1, 2])
def test_progress_goes_from_nothing_to_all(case: str, threads: int) -> None:
    model, watch = attn_cli.load(GOLDEN / case), Watch()
    last = 0
    for _ in model.blocks(model.encode(TEXT), block_rows=2, threads=threads, progress=watch):
        assert watch.taken >= last
        last = watch.taken
    assert watch.closed
    assert 0.75 * watch.total <= watch.taken <= watch.total  # the last layer ends with its attention


def test_progress_is_let_go_when_the_stream_is() -> None:
    model, watch = attn_cli.load(GOLDEN / "gpt2"), Watch()
    blocks = model.blocks(model.encode(TEXT), block_rows=1, threads=2, progress=watch)
    for _ in range(4):
        next(blocks)
    blocks.close()  # type: ignore[attr-defined]
    assert watch.closed
    assert 0 < watch.taken < watch.total


@pytest.mark.parametrize("case", ["bert", "gpt2", "llama", "bloom", "t5", "deberta_v2", "mistral"])
def test_the_next_block_is_begun_without_touching_this_one(case: str) -> None:
    model = attn_cli.load(GOLDEN / case)
    tokens = model.encode(TEXT)
    fresh = [b.attn.copy() for b in model.blocks(tokens, block_rows=2, threads=1)]
    reused = [b.attn.copy() for b in model.blocks(tokens, block_rows=2, threads=2, reuse=True)]
    assert len(fresh) == len(reused)
    for one, other in zip(fresh, reused, strict=True):
        assert_close(other, one, 1e-6, case)


@pytest.mark.parametrize("case", ["gpt2", "mistral"])
def test_masks_of_part_of_the_keys_equal_the_definition(case: str) -> None:
    model = attn_cli.load(GOLDEN / case)
    tokens = model.encode(" ".join([TEXT] * 2))
    n = len(tokens)
    want = plain.attention(model, tokens)
    for block in model.blocks(tokens, block_rows=3, threads=2):
        q, k = block.queries, block.keys
        assert_close(block.attn, want[block.layer, :, q.start : q.stop, k.start : k.stop], 1e-6)
        assert k.stop <= n


def long(model: Model, n: int) -> Tokens:
    return replace(Tokens.given([str(i) for i in range(n)]), ids=tuple(i % 20 for i in range(n)))


def peak(model: Model, n: int, threads: int = 2) -> float:
    """Bytes at peak for one row of the last layer's attention."""
    tokens = long(model, n)
    tracemalloc.start()
    for block in model.blocks(tokens, str(model.spec.n_layers - 1), queries=[n - 1], reuse=True, threads=threads):
        del block
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


@pytest.mark.parametrize("case", ["llama", "bloom"])
def test_memory_grows_no_faster_than_the_text(case: str) -> None:
    model = attn_cli.load(GOLDEN / case)
    small, large = peak(model, 1024), peak(model, 4096)
    assert large < 5 * small + 8 * 2**20  # a quadratic part would be 16 times as large


def test_work_ends_where_a_reader_has_seen_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    model = attn_cli.load(GOLDEN / "gpt2")
    stopped = []
    stop = Work.stop
    monkeypatch.setattr(Work, "stop", lambda self: (stopped.append(self), stop(self))[1])
    for _ in model.blocks(model.encode(TEXT), block_rows=1, threads=2):
        before = len(stopped)
        break
    assert len(stopped) == before + 2  # this block's, done by then, and the next one's


def test_one_thread_needs_no_more_memory_than_two() -> None:
    model = attn_cli.load(GOLDEN / "llama")  # whose MLP is wider than the stream
    assert peak(model, 4096, 1) < peak(model, 4096, 2)


def test_memory_does_not_grow_with_the_layers() -> None:
    few, many = (peak(attn_cli.random_model(n_layers=n, d_model=64, n_heads=2, causal=True), 1024) for n in (4, 20))
    assert many < 1.2 * few + 2**20


def test_no_query_asked_for_gives_no_block() -> None:
    model = attn_cli.load(GOLDEN / "bert")
    assert not list(model.blocks(model.encode(TEXT), {0: (0,)}, queries=[]))


def test_two_rotary_layers_take_a_text_of_many_thousand_tokens() -> None:
    model = attn_cli.random_model(n_layers=2, n_heads=1, d_model=8, causal=True)
    n = 3000
    tokens = long(model, n)
    rows = [b for b in model.blocks(tokens, "1", queries=[n - 1])]
    assert sum(len(b.queries) for b in rows) == 1
    assert np.isclose(rows[-1].attn.sum(), 1)
