"""The fast path of attention: one layer's weights, slice by slice of queries, on all cores.

What decides the time of a long text is not the number of products but how often large arrays cross memory. So
- a job is one head and one slice of queries, whose scores stay in a core's cache from the product to the last division;
- the division by the row sum comes after the product with the values, and touches the weights only where they are wanted;
- the largest score of a row is subtracted only where the lengths of q and k do not already say that exp cannot overflow;
- keys that the mask hides from the whole slice are not computed.
The definition that all this must equal stands in plain.py.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from attn_cli.errors import CheckpointError, quote
from attn_cli.model import _relative, _rope, ops, positions, residual
from attn_cli.model.block import Block, Kept
from attn_cli.model.pool import slices

if TYPE_CHECKING:
    from attn_cli.model.forward import Pass
    from attn_cli.model.plain import Trace
    from attn_cli.spec import ModelSpec
    from attn_cli.tokens import Tokens

BLOCK_BYTES = 4 * 2**20  # of one block's weights where one thread computes all heads: a short text is one block
SAFE = 60.0  # scores between -60 and 60 need no shift: exp and the sum of millions of them stay well inside float32


class Attention:
    """One layer's attention: q, k and v at once, then the weights slice by slice of queries.

    Queries come from `x`, the stream that enters the layer, through the norm before attention where there is one; keys and
    values too, or from the encoder's output where there is a `memory`.
    """

    def __init__(
        self,
        run: Pass,
        layer: int,
        w: ops.Arrays,
        x: np.ndarray,
        *,
        values: bool,
        memory: tuple[np.ndarray, Tokens] | None = None,
    ) -> None:
        self.pass_, self.model, self.layer, self.w, self.crosses = run, run.model, layer, w, memory is not None
        self.spec = spec = run.model.spec if memory is None else run.model.spec.crossing()
        self.stream = x
        self._once = threading.Lock()
        self._made: _relative.Distances | None = None
        self.x = np.empty_like(x)  # what attention reads
        rope = spec.rope_at(layer)
        self._table = None if rope is None else _rope.table(rope, len(x), x.dtype)
        self.q = np.empty((spec.n_heads, len(x), spec.d_head), x.dtype)
        self.z = np.empty((len(x), spec.n_heads, spec.d_v), x.dtype) if values else None

        def queries(rows: slice) -> None:
            self.x[rows] = residual.before_attention(run.model.spec, x[rows], w)
            self.q[:, rows] = self._turned(self._project(self.x[rows], "q", spec.n_heads), rows)

        run.pool.each(queries, run.slices(len(x)))
        self.source, self.key_tokens = (self.x, run.tokens) if memory is None else memory
        self.k = np.empty((spec.n_kv_heads, len(self.source), spec.d_head), x.dtype)
        self.v = np.empty((spec.n_kv_heads, len(self.source), spec.d_v), x.dtype) if values else None

        def keys(rows: slice) -> None:
            self.k[:, rows] = self._turned(self._project(self.source[rows], "k", spec.n_kv_heads), rows)
            if self.v is not None:
                self.v[:, rows] = self._project(self.source[rows], "v", spec.n_kv_heads)

        run.pool.each(keys, run.slices(len(self.source)))

    def _project(self, x: np.ndarray, part: str, n_heads: int) -> np.ndarray:
        """Queries, keys or values of some rows: (rows, d_model) -> (heads, rows, d_head)."""
        projected = project(self.spec, x, self.w, f"attn.{part}", n_heads)
        return projected if part == "v" else ops.qk_norm(projected, self.w, f"attn.{part}_norm.", self.spec)

    def _turned(self, x: np.ndarray, rows: slice) -> np.ndarray:
        rope = self.spec.rope_at(self.layer)
        if rope is None or self._table is None:
            return x
        return _rope.rotate(x, rope, (self._table[0][rows], self._table[1][rows]))

    def run(self, wanted: tuple[int, ...], kept: Kept) -> Iterator[Block]:
        """The blocks of the `wanted` heads; z is worked out as well, of all heads, where values are there."""
        kept.add("q", self.q)
        kept.add("k", self.k)
        if self.v is not None:
            kept.add("v", self.v)
        computed = wanted if self.v is None else tuple(range(self.spec.n_heads))
        q = self.q * self.q.dtype.type(self.model.scale(self.layer))
        job = _Slices(self, computed, wanted, q, self._bounds(q, computed))
        yield from job.run()

    def _bounds(self, q: np.ndarray, heads: Sequence[int]) -> list[float]:
        """What no score of each head can exceed: the longest query times the longest key (Cauchy and Schwarz)."""
        spec = self.spec
        if spec.relative is not None or spec.disentangled is not None or spec.alibi is not None or spec.sinks:
            return [np.inf] * len(heads)  # something is added to the scores
        group = spec.n_heads // spec.n_kv_heads
        longest_q, longest_k = (np.sqrt(np.einsum("hnd,hnd->hn", a, a).max(1, initial=0)) for a in (q, self.k))
        return [float(longest_q[h]) * float(longest_k[h // group]) for h in heads]

    def output(self, rows: slice) -> np.ndarray:
        """What attention adds to the stream in some rows: the heads concatenated, through W_O; (rows, d_model)."""
        if self.z is None:
            raise ValueError("values were not computed")
        z = self.z[rows].reshape(rows.stop - rows.start, -1)
        return ops.linear(z, self.w, "attn.o") if "attn.o.weight" in self.w else z

    def bias(self, heads: tuple[int, ...], queries: range, keys: range) -> np.ndarray | None:
        """What positions add to the scaled scores: (heads or 1, queries or 1, keys); None where they add nothing."""
        spec, found = self.spec, []
        if spec.relative is not None:
            table = self.w["attn.relative.weight"]
            found.append(_relative.relative_bias(spec, spec.relative, table, heads, queries, keys))
        if spec.disentangled is not None:
            distances = self._distances
            q = self.q[list(heads), queries.start : queries.stop] * self.q.dtype.type(self.model.scale(self.layer))
            found.append(distances.scores(q, heads, queries, keys))
        if spec.alibi is not None:
            found.append(positions.alibi_bias(spec, spec.alibi, heads, queries, keys).astype(self.q.dtype))
        return sum(found[1:], found[0]) if found else None

    @property
    def _distances(self) -> _relative.Distances:
        """The vectors of distances, for a spec that has such."""
        with self._once:  # several threads ask for it at the same time
            if self._made is None and self.spec.disentangled is not None:
                scaled = self.k * self.k.dtype.type(self.model.scale(self.layer))
                self._made = _relative.Distances(self.spec, self.spec.disentangled, self.w, scaled)
        if self._made is None:
            raise ValueError("this spec has no vectors of distances")
        return self._made

    def block(self, attn: np.ndarray, heads: tuple[int, ...], queries: range, keys: range) -> Block:
        """The block of these heads and queries around its weights."""
        attn = attn.view()
        attn.flags.writeable = False
        return Block(
            text=self.pass_.text,
            kind="cross" if self.crosses else self.pass_.kind,
            layer=self.layer,
            heads=heads,
            queries=queries,
            keys=keys,
            query_tokens=self.pass_.tokens,
            key_tokens=self.key_tokens,
            attn=attn,
            _mask=lambda: positions.forbidden(self.spec, self.layer, queries, keys),
            _value_norm=lambda: self._value_norm(heads, keys),
            _trace=self._trace,
        )

    def _value_norm(self, heads: tuple[int, ...], keys: range) -> np.ndarray:
        spec, group = self.spec, self.spec.n_heads // self.spec.n_kv_heads
        w = self._arrays
        w_o, values = w.get("attn.o.weight"), project(spec, self.source, w, "attn.v", spec.n_kv_heads)
        norms = np.empty((len(heads), len(keys)), self.x.dtype)
        for row, head in enumerate(heads):
            v = values[head // group, keys.start : keys.stop]
            if w_o is not None:
                v = v @ w_o[:, head * spec.d_v : (head + 1) * spec.d_v].T
            norms[row] = np.linalg.norm(v, axis=-1)
        return norms

    def _trace(self, head: int, query: int) -> Trace:
        from attn_cli.model.plain import trace

        return trace(self.spec, self._arrays, self.x, self.layer, head, query, self.source, self.stream)

    @cached_property
    def _arrays(self) -> ops.Arrays:
        """All that attention needs, what this pass had no use for included."""
        part = self.model.weights.layer(self.layer, "cross." if self.crosses else "attn.")
        return {**self.w, **(crossing(part) if self.crosses else part)}


class _Slices:
    """The weights of one layer: for each slice of queries, one job for each head."""

    def __init__(
        self,
        attention: Attention,
        computed: tuple[int, ...],
        wanted: tuple[int, ...],
        q: np.ndarray,
        bounds: list[float],
    ) -> None:
        self.attention, self.computed, self.wanted, self.q, self.bounds = attention, computed, wanted, q, bounds
        self.spec = spec = attention.spec
        self.n_keys = len(attention.source)
        self.group = spec.n_heads // spec.n_kv_heads
        self.place = {head: i for i, head in enumerate(wanted)}
        self.sinks = attention.w["attn.sinks"] if spec.sinks else None
        run = attention.pass_
        heads = max(1, len(computed))
        alone = max(16, BLOCK_BYTES // (heads * max(1, self.n_keys) * q.itemsize))
        self.rows = run.block_rows or (alone if run.pool.threads == 1 else run.rows(self.n_keys))
        self._scratch = threading.local()
        self._buffer = np.empty(0, q.dtype)

    def run(self) -> Iterator[Block]:
        """The blocks in the order of the text."""
        run = self.attention.pass_
        each, queries_ = run.pool.each, self._queries()
        if not self.wanted:  # nothing to hand out in between: every core works until the layer is done
            parts = [self._part(queries, None) for queries in queries_]
            each(lambda job: job(), [job for part in parts for job in part], run.steps.attended)
            return
        for i, queries in enumerate(queries_, 1):
            keys = self._keys(queries)
            attn = self._room(len(self.wanted), len(queries), len(keys))
            each(lambda job: job(), self._part(queries, attn))
            yield self.attention.block(attn, self.wanted, queries, keys)
            run.steps.attended(i / len(queries_))

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

    def _room(self, heads: int, queries: int, keys: int) -> np.ndarray:
        """A fresh block, or the one before where the caller is done with it when it asks for the next."""
        size = heads * queries * keys
        if not self.attention.pass_.reuse:
            return np.empty((heads, queries, keys), self.q.dtype)
        if self._buffer.size < size:
            self._buffer = np.empty(size, self.q.dtype)
        return self._buffer[:size].reshape(heads, queries, keys)

    def _part(self, queries: range, attn: np.ndarray | None) -> list[Callable[[], None]]:
        """One slice's jobs, one for each head; what the heads share is worked out once, by the first that needs it."""
        keys = self._keys(queries)
        hidden = positions.forbidden(self.spec, self.attention.layer, queries, keys)
        bias = self.attention.bias(self.computed, queries, keys)

        def job(i: int) -> Callable[[], None]:
            def run() -> None:
                out = None if attn is None else self.place.get(self.computed[i])
                scores = self._mine(len(queries), len(keys)) if attn is None or out is None else attn[out]
                self._head(
                    i, queries, keys, scores, hidden, None if bias is None else bias[i % len(bias)], out is not None
                )

            return run

        return [job(i) for i in range(len(self.computed))]

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
            scores += bias
        if hidden is not None:
            np.putmask(scores, hidden, -np.inf)
        total = ops.exponentials(
            scores, None if self.sinks is None else self.sinks[head], shift=not self.bounds[i] < SAFE
        )
        if not (np.isfinite(total).all() and (total > 0).all()):
            raise self._broken(head, queries, total)
        total = 1 / total
        if attention.z is not None and attention.v is not None:
            z = scores @ attention.v[kv, keys.start : keys.stop]
            z *= total
            attention.z[queries.start : queries.stop, head] = z
        if wanted:
            scores *= total

    def _broken(self, head: int, queries: range, total: np.ndarray) -> CheckpointError:
        """The rows sum to one on every run, by the division; what cannot be divided by shows weights that are no numbers."""
        row = int(np.argmax(~(np.isfinite(total) & (total > 0))))
        return CheckpointError(
            f"{quote(self.attention.model.source)}: head L{self.attention.layer}.H{head}, query {queries.start + row}: "
            "the attention weights do not sum to one",
            "the weights hold infinite or missing numbers; fetch the checkpoint again",
        )


def crossing(w: ops.Arrays) -> dict[str, np.ndarray]:
    """The arrays of a layer's cross-attention, under the names of attention."""
    return {"attn." + name[len("cross.") :]: array for name, array in w.items() if name.startswith("cross.")}


def project(spec: ModelSpec, x: np.ndarray, w: ops.Arrays, name: str, n_heads: int) -> np.ndarray:
    """Queries, keys or values: (tokens, d_model) -> (heads, tokens, d_head)."""
    y = ops.linear(x, w, name)
    if spec.qkv_clip is not None:
        np.clip(y, -spec.qkv_clip, spec.qkv_clip, out=y)
    return y.reshape(len(x), n_heads, -1).swapaxes(0, 1)
