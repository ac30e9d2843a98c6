"""One layer's attention: what goes into it, q, k and v, and what comes out. The weights between are worked out in fast.py."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from attn_cli.errors import CheckpointError, quote
from attn_cli.model import _relative, _rope, ops, positions, residual
from attn_cli.model.block import Block, Kept
from attn_cli.model.fast import Slices

if TYPE_CHECKING:
    from attn_cli.model.forward import Pass
    from attn_cli.model.plain import Trace
    from attn_cli.spec import ModelSpec
    from attn_cli.tokens import Tokens


class Attention:
    """One layer's attention: q, k and v at once, then the weights slice by slice of queries.

    Queries come from `x`, the stream that enters the layer, through the norm before attention where there is one; keys and
    values too, or from the encoder's output where there is a `memory`. `arrive` fills rows of `x` that are not there yet.
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
        arrive: Callable[[slice], None] | None = None,
    ) -> None:
        self.pass_, self.model, self.layer, self.w, self.crosses = run, run.model, layer, w, memory is not None
        self.spec = spec = run.model.spec if memory is None else run.model.spec.crossing()
        self.stream, self._arrive = x, arrive
        self._once = threading.Lock()
        self._made: _relative.Distances | None = None
        self.x = np.empty_like(x)  # what attention reads
        self.source, self.key_tokens = (self.x, run.tokens) if memory is None else memory
        rope, n, n_keys = spec.rope_at(layer), len(x), len(self.source)
        self._table = None if rope is None else _rope.table(rope, n, x.dtype)
        # (heads, tokens, width) each; scaled is q times the scale, the squares are lengths of scaled and k: (heads, tokens)
        self.q, self.scaled = (np.empty((spec.n_heads, n, spec.d_head), x.dtype) for _ in range(2))
        self.k = np.empty((spec.n_kv_heads, n_keys, spec.d_head), x.dtype)
        self.v = np.empty((spec.n_kv_heads, n_keys, spec.d_v), x.dtype) if values else None
        self.z = np.empty((n, spec.n_heads, spec.d_v), x.dtype) if values else None
        self._q_square, self._k_square = (
            np.empty((spec.n_heads, n), x.dtype),
            np.empty((spec.n_kv_heads, n_keys), x.dtype),
        )
        if memory is None:
            run.pool.each(self._queries_and_keys, run.slices(n))
        else:
            run.pool.each(self._queries, run.slices(n))
            run.pool.each(self._keys, run.slices(n_keys))
        self._arrive = None  # it holds the layer before

    def _queries_and_keys(self, rows: slice) -> None:
        self._queries(rows)
        self._keys(rows)

    def _queries(self, rows: slice) -> None:
        if self._arrive is not None:
            self._arrive(rows)
        self.x[rows] = residual.before_attention(self.model.spec, self.stream[rows], self.w)
        self.q[:, rows] = q = self._turned(self._project(self.x[rows], "q", self.spec.n_heads), rows)
        scaled = np.multiply(q, q.dtype.type(self.model.scale(self.layer)), out=self.scaled[:, rows])
        self._q_square[:, rows] = np.vecdot(scaled, scaled)

    def _keys(self, rows: slice) -> None:
        self.k[:, rows] = k = self._turned(self._project(self.source[rows], "k", self.spec.n_kv_heads), rows)
        self._k_square[:, rows] = np.vecdot(k, k)
        if self.v is not None:
            self.v[:, rows] = self._project(self.source[rows], "v", self.spec.n_kv_heads)

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
        yield from Slices(self, computed, wanted, self._bounds(computed)).run()
        # a long text has no room for what is not needed any more
        self.q = self.k = self.scaled = self._q_square = self._k_square = np.empty(0, self.q.dtype)
        self.v = self._made = None

    def _bounds(self, heads: Sequence[int]) -> list[float]:
        """What no score of each head can exceed: the longest query times the longest key (Cauchy and Schwarz)."""
        spec = self.spec
        if spec.relative is not None or spec.disentangled is not None or spec.alibi is not None or spec.sinks:
            return [np.inf] * len(heads)  # something is added to the scores
        group = spec.n_heads // spec.n_kv_heads
        longest_q, longest_k = (np.sqrt(a.max(1, initial=0)) for a in (self._q_square, self._k_square))
        return [float(longest_q[h]) * float(longest_k[h // group]) for h in heads]

    @np.errstate(all="ignore")
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
            q = self.scaled[list(heads), queries.start : queries.stop]
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
            if not np.isfinite(norms[row]).all():
                key = keys[int(np.argmin(np.isfinite(norms[row])))]
                raise self.broken(head, f"key {key}: its value is not finite")
        return norms

    def _trace(self, head: int, query: int) -> Trace:
        from attn_cli.model.plain import trace

        found = trace(self.spec, self._arrays, self.x, self.layer, head, query, self.source, self.stream)
        if not np.isfinite(found.output).all():
            raise self.broken(head, f"query {query}: the output is not finite")
        return found

    def broken(self, head: int, what: str) -> CheckpointError:
        """An error that names the head in which weights that are no numbers were met."""
        kind = "cross" if self.crosses else self.pass_.kind
        name = f"{'' if kind == 'self' else f'{kind} '}head L{self.layer}.H{head}"
        hint = "the weights hold infinite or missing numbers; fetch the checkpoint again"
        return CheckpointError(f"{quote(self.model.source)}: {name}, {what}", hint)

    @cached_property
    def _arrays(self) -> ops.Arrays:
        """All that attention needs, what this pass had no use for included."""
        part = self.model.weights.layer(self.layer, "cross." if self.crosses else "attn.")
        return {**self.w, **(crossing(part) if self.crosses else part)}


def crossing(w: ops.Arrays) -> dict[str, np.ndarray]:
    """The arrays of a layer's cross-attention, under the names of attention."""
    return {"attn." + name[len("cross.") :]: array for name, array in w.items() if name.startswith("cross.")}


def project(spec: ModelSpec, x: np.ndarray, w: ops.Arrays, name: str, n_heads: int) -> np.ndarray:
    """Queries, keys or values: (tokens, d_model) -> (heads, tokens, d_head)."""
    y = ops.linear(x, w, name)
    if spec.qkv_clip is not None:
        np.clip(y, -spec.qkv_clip, spec.qkv_clip, out=y)
    return y.reshape(len(x), n_heads, -1).swapaxes(0, 1)
