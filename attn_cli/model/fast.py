"""The fast path: the weights of one layer, slice by slice of queries, on all cores.

What decides the time of a long text is not the number of products but how often large arrays cross memory. So
- a job is one head and one slice of queries, whose scores stay in a core's cache from the product to the last division;
- the division by the row sum comes after the product with the values, and touches the weights only where they are wanted;
- the largest score of a row is subtracted only where the lengths of q and k do not already say that exp cannot overflow;
- keys that the mask hides from the whole slice are not computed, and the mask is laid only over keys that it hides from some;
- while a block is looked at, the next one is worked on.
The definition that all this must equal stands in plain.py.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from attn_cli.model import ops, positions
from attn_cli.model.block import Block
from attn_cli.model.pool import Work, slices

if TYPE_CHECKING:
    from attn_cli.errors import CheckpointError
    from attn_cli.model.attention import Attention

Made = tuple[range, np.ndarray | None, np.ndarray | None]

BLOCK_BYTES = 4 * 2**20  # of one block's weights where one thread computes all heads: a short text is one block
SAFE = 60.0  # scores between -60 and 60 need no shift: exp and the sum of millions of them stay well inside float32


class _Shared:
    """What the jobs of one slice share: made by the first that takes it, let go by the last, so that few slices hold any."""

    def __init__(self, make: Callable[[], Made], uses: int) -> None:
        self._make, self._uses = make, uses
        self._made: Made | None = None
        self._lock = threading.Lock()

    def take(self) -> Made:
        with self._lock:
            found = self._make() if self._made is None else self._made
            self._uses -= 1
            self._made = found if self._uses else None
        return found


class Slices:
    """The weights of one layer: for each slice of queries, one job for each head."""

    def __init__(
        self,
        attention: Attention,
        computed: tuple[int, ...],
        wanted: tuple[int, ...],
        bounds: list[float],
    ) -> None:
        self.attention, self.computed, self.wanted, self.bounds = attention, computed, wanted, bounds
        self.q = q = attention.scaled
        self.spec = spec = attention.spec
        self.n_keys = len(attention.source)
        self.group = spec.n_heads // spec.n_kv_heads
        self.place = {head: i for i, head in enumerate(wanted)}
        self.sinks = attention.w["attn.sinks"] if spec.sinks else None
        run = attention.pass_
        heads = max(1, len(computed))
        alone = max(16, BLOCK_BYTES // (heads * max(1, self.n_keys) * q.itemsize))
        self.rows = run.block_rows or (alone if run.pool.threads == 1 else run.rows(self.n_keys, causal=spec.causal))
        self._scratch = threading.local()
        self._rooms = [np.empty(0, q.dtype)] * 2

    def run(self) -> Iterator[Block]:
        """The blocks in the order of the text."""
        run = self.attention.pass_
        parts = self._queries()
        if not self.wanted:  # nothing to hand out in between: every core works until the layer is done
            jobs = [job for queries in parts for job in self._part(queries, None)]
            run.pool.each(lambda job: job(), jobs, run.steps.attended)
            return
        if not parts:
            return
        started = self._start(parts[0], 0)
        for i, queries in enumerate(parts, 1):
            attn, work = started
            try:
                if i < len(parts):  # while whoever asked for this block looks at it, the next one is worked on
                    started = self._start(parts[i], i)
                work.finish()
                yield self.attention.block(attn, self.wanted, queries, self._keys(queries))
            except BaseException:  # whoever asked may be content before the end
                work.stop()
                started[1].stop()
                raise
            run.steps.attended(i / len(parts))

    def _start(self, queries: range, i: int) -> tuple[np.ndarray, Work[Callable[[], None]]]:
        """The array for a slice's weights, and the jobs that fill it, begun."""
        attn = self._room(len(self.wanted), len(queries), len(self._keys(queries)), i % 2)
        return attn, self.attention.pass_.pool.start(lambda job: job(), self._part(queries, attn))

    def _queries(self) -> list[range]:
        """The slices of queries: all of them, or, where only weights are needed, those that were asked for."""
        run, n = self.attention.pass_, len(self.attention.x)
        if run.queries is None or self.attention.v is not None:
            return [range(s.start, s.stop) for s in slices(n, self.rows)]
        found: list[range] = []
        for q in sorted(run.queries):
            if found and q == found[-1].stop and len(found[-1]) < self.rows:
                found[-1] = range(found[-1].start, q + 1)
            else:
                found.append(range(q, q + 1))
        return found

    def _keys(self, queries: range) -> range:
        return positions.visible_keys(self.spec, self.attention.layer, queries, self.n_keys)

    def _room(self, heads: int, queries: int, keys: int, turn: int) -> np.ndarray:
        """A fresh block, or where the caller is done with a block when it asks for the next, that of two that is free."""
        size = heads * queries * keys
        if not self.attention.pass_.reuse:
            return np.empty((heads, queries, keys), self.q.dtype)
        if self._rooms[turn].size < size:
            self._rooms[turn] = np.empty(size, self.q.dtype)
        return self._rooms[turn][:size].reshape(heads, queries, keys)

    def _part(self, queries: range, attn: np.ndarray | None) -> list[Callable[[], None]]:
        """One slice's jobs, one for each head; what the heads share is worked out once, by the first that needs it."""
        keys = self._keys(queries)
        shared = _Shared(lambda: self._shared(queries, keys), len(self.computed))

        def job(i: int) -> Callable[[], None]:
            def run() -> None:
                out = None if attn is None else self.place.get(self.computed[i])
                scores = self._mine(len(queries), len(keys)) if attn is None or out is None else attn[out]
                self._head(i, queries, keys, scores, *shared.take(), out is not None)

            return run

        return [job(i) for i in range(len(self.computed))]

    def _shared(self, queries: range, keys: range) -> Made:
        """Among which of the keys some are hidden, the mask of those, and what is added to the scores."""
        first = queries.start if self.spec.causal and self.spec.window_at(self.attention.layer) is None else 0
        some = range(max(keys.start, first), keys.stop)  # the keys before the slice are hidden from no query of it
        hidden = positions.forbidden(self.spec, self.attention.layer, queries, some)
        return some, hidden, self.attention.bias(self.computed, queries, keys)

    def _mine(self, queries: int, keys: int) -> np.ndarray:
        """This thread's room for scores that nobody asked to see."""
        room: np.ndarray | None = getattr(self._scratch, "room", None)
        if room is None or room.size < queries * keys:
            room = self._scratch.room = np.empty(self.rows * self.n_keys, self.q.dtype)
        return room[: queries * keys].reshape(queries, keys)

    def _head(
        self,
        i: int,
        queries: range,
        keys: range,
        scores: np.ndarray,
        some: range,
        hidden: np.ndarray | None,
        bias: np.ndarray | None,
        wanted: bool,
    ) -> None:
        """One head's rows: scores, softmax, and the weighted sum of the values; `scores` becomes the weights if `wanted`."""
        attention, head = self.attention, self.computed[i]
        kv = head // self.group
        np.matmul(self.q[head, queries.start : queries.stop], attention.k[kv, keys.start : keys.stop].T, out=scores)
        if self.spec.softcap is not None:
            ops.softcap(scores, self.spec.softcap)
        if bias is not None:
            scores += bias[i % len(bias)]
        if hidden is not None:
            np.putmask(scores[:, some.start - keys.start :], hidden, -np.inf)
        total = ops.exponentials(
            scores, None if self.sinks is None else self.sinks[head], shift=not self.bounds[i] < SAFE
        )
        if not (total.min() > 0 and total.max() < np.inf):  # NaN is neither
            raise self._broken(head, queries, total)
        np.divide(1, total, out=total)
        if attention.z is not None and attention.v is not None:
            z = scores @ attention.v[kv, keys.start : keys.stop]
            np.multiply(z, total, out=attention.z[queries.start : queries.stop, head])
        if wanted:
            scores *= total

    def _broken(self, head: int, queries: range, total: np.ndarray) -> CheckpointError:
        """The rows sum to one on every run, by the division; what cannot be divided by shows weights that are no numbers."""
        row = int(np.argmax(~(np.isfinite(total) & (total > 0))))
        return self.attention.broken(head, f"query {queries.start + row}: the attention weights do not sum to one")
