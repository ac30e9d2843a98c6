"""The forward pass as a stream: one block of attention after another, and nothing kept that nobody asked for.

A block is a slice of queries of one layer. Work ends with the last wanted layer, and there with its attention: the values,
the MLP and the tensors of later layers are not touched unless `keep` needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attn_cli.model import _relative, pool, residual
from attn_cli.model.attention import Attention, crossing
from attn_cli.model.block import Block, Kept, Selections

if TYPE_CHECKING:
    from attn_cli.model import Model
    from attn_cli.model.ops import Arrays
    from attn_cli.spec import ModelSpec
    from attn_cli.tokens import Tokens

Progress = Callable[[Iterable[Any], int], Iterable[Any]]
_STEPS = 100  # of a layer
_ATTENDED = 0.8  # the share of a layer that is done after its attention, in a text long enough to wait for

_SKIPPED = {  # what the last wanted attention of a pass does without
    "attn": ("mlp.", "cross.", "attn.v.", "attn.o."),
    "cross": ("mlp.", "cross.v.", "cross.o."),
    "": (),
}


def blocks(
    model: Model,
    tokens: Tokens,
    wanted: Selections,
    *,
    kept: Kept,
    block_rows: int | None = None,
    text: int = 0,
    queries: frozenset[int] | None = None,
    reuse: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Iterator[Block]:
    """The wanted attention, layer by layer and slice by slice of queries; an encoder's before its decoder's.

    `queries`: rows that are enough where only they need computing (other rows may come as well). `reuse`: a block's array
    is valid until the next block is taken. `threads`: how many; None is one for a short text, else one for each core.
    `progress(iterable, total)` goes along: items are taken from what it returns as the work gets on.
    """
    decoder = None if model.decoder is None or tokens.target is None else model.decoder
    length = max(len(tokens), 0 if tokens.target is None else len(tokens.target))
    kind = next(iter(model.kinds))
    two = {"attn": wanted.get("decoder", {}), "cross": wanted.get("cross", {})} if decoder is not None else {}
    on = decoder is not None and (kept.whole or any(two.values()))
    first = {"attn": wanted.get(kind, {})}
    layers = _end(model.spec, first, kept.whole or on) + (0 if decoder is None else _end(decoder.spec, two, kept.whole))
    with pool.pool(length, threads) as workers, closing(Steps(progress, layers)) as steps:

        def run(model: Model, tokens: Tokens, kind: str, prefix: str = "") -> Pass:
            return Pass(model, tokens, kind, text, block_rows, kept.under(prefix), workers, queries, reuse, steps)

        if decoder is None:
            yield from _stack(run(model, tokens, kind), first, kept.whole)
            return
        memory = yield from _stack(run(model, tokens, "encoder", "encoder_"), first, on)
        if on and memory is not None and tokens.target is not None:
            yield from _stack(run(decoder, tokens.target, "decoder", "decoder_"), two, kept.whole, (memory, tokens))


class Steps:
    """How far a run is, for whoever watches it: hundredths of layers, as items taken from what `progress` returned."""

    def __init__(self, progress: Progress | None, layers: int) -> None:
        steps = range(layers * _STEPS)
        self._items = None if progress is None else iter(progress(steps, len(steps)))
        self._taken, self._layers = 0, 0

    def attended(self, share: float) -> None:
        """So much of the attention of the layer at hand is done."""
        self._at(self._layers + _ATTENDED * share)

    def layer(self) -> None:
        """One more layer is done."""
        self._layers += 1
        self._at(self._layers)

    def _at(self, layers: float) -> None:
        while self._items is not None and self._taken < int(layers * _STEPS):
            next(self._items, None)
            self._taken += 1

    def close(self) -> None:
        """Lets go of the iterator, which may have something to clear away."""
        close = getattr(self._items, "close", None)
        if close is not None:
            close()


@dataclass(frozen=True)
class Pass:
    """One stack's run over one text, and the threads that share its work."""

    model: Model
    tokens: Tokens
    kind: str  # self encoder decoder
    text: int
    block_rows: int | None
    kept: Kept
    pool: pool.Pool
    queries: frozenset[int] | None
    reuse: bool
    steps: Steps

    def slices(self, n: int) -> list[slice]:
        """The slices of n rows that go through a chain of steps by themselves, shared out evenly among the threads."""
        rounds = max(1, -(-n // (pool.CHAIN * self.pool.threads)))
        return pool.slices(n, max(1, -(-n // (rounds * self.pool.threads))))

    def rows(self, n_keys: int, *, causal: bool) -> int:
        """How many queries of one head a job takes: fewer for many keys, so that their scores stay in a core's cache.

        Fewer, too, where a mask hides what comes later: the shorter the slice, the less of that is worked out.
        """
        return max(16, min(pool.ROWS // 2 if causal else pool.ROWS, pool.SCORES // max(1, n_keys)))


def _end(spec: ModelSpec, wanted: Selections, whole: bool) -> int:
    """How many layers must run."""
    return spec.n_layers if whole else max((layer for s in wanted.values() for layer in s), default=-1) + 1


def _stack(
    run: Pass, wanted: Selections, whole: bool, memory: tuple[np.ndarray, Tokens] | None = None
) -> Generator[Block, None, np.ndarray | None]:
    """One stack's blocks; what it returns is the stream at its end, None where that was not needed.

    `wanted` says which heads of its own attention (attn) and of that to the encoder's output (cross); `memory` is that output.
    """
    model, spec, kept = run.model, run.model.spec, run.kept
    x = embedded = residual.embed(model, run.tokens)
    shared = _relative.shared(model)
    last = _end(spec, wanted, whole) - 1
    kept.add("hidden_states", x)
    arrive: Callable[[slice], None] | None = None  # what is left to do to x
    for layer in range(last + 1):
        ends = "" if whole or layer < last else "cross" if layer in wanted.get("cross", {}) else "attn"
        w = model.weights.layer(layer, skip=_SKIPPED[ends]) | shared
        attention = Attention(run, layer, w, x, values=ends != "attn", arrive=arrive)
        arrive = None
        if layer:
            run.steps.layer()
        yield from attention.run(wanted["attn"].get(layer, ()), kept)
        if ends == "attn":
            return None
        if memory is not None:
            x = residual.before_cross(spec, x, attention.output(slice(0, len(x))), w)
            attention = Attention(run, layer, crossing(w), x, values=ends != "cross", memory=memory)
            yield from attention.run(wanted["cross"].get(layer, ()), kept.under("cross_"))
            if ends == "cross":
                return None
        x, arrive = _after(run, layer, x, attention, w)
        if spec.n_experts:
            run.pool.each(arrive, [slice(0, len(x))])  # an expert is read from the file once for all its tokens
            arrive = None
        elif layer == last or spec.conv is not None or "hidden_states" in kept.names:
            run.pool.each(arrive, run.slices(len(x)))
            arrive = None
        x = residual.convolve(model, layer, embedded, x)
        if layer < spec.n_layers - 1:
            kept.add("hidden_states", x)
    if last >= 0:
        run.steps.layer()
    return residual.end(model, x, kept)


def _after(
    run: Pass, layer: int, x: np.ndarray, attention: Attention, w: Arrays
) -> tuple[np.ndarray, Callable[[slice], None]]:
    """The stream after a layer, and what fills it slice by slice: projection, norms and MLP while the slice is in cache.

    Where the next layer can begin with these rows at once, it is left to that: the threads meet once less.
    """
    after = np.empty_like(x)

    def job(rows: slice) -> None:
        after[rows] = residual.after_attention(run.model, layer, x[rows], attention.x[rows], attention.output(rows), w)

    return after, job
