"""The forward pass as a stream: one block of attention after another, and nothing kept that nobody asked for.

A block is a slice of queries of one layer. Work ends with the last wanted layer, and there with its attention: the values,
the MLP and the tensors of later layers are not touched unless `keep` needs them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from attn_cli.errors import CheckpointError, quote
from attn_cli.model import _relative, _rope, ops, positions, residual
from attn_cli.model.block import Block, Kept, Selections

if TYPE_CHECKING:
    from attn_cli.model import Model
    from attn_cli.model.plain import Trace
    from attn_cli.spec import ModelSpec
    from attn_cli.tokens import Tokens

BLOCK_BYTES = 4 * 2**20  # of one block's weights: several fit in a core's cache share, and a short text is one block


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
) -> Iterator[Block]:
    """The wanted attention, layer by layer and slice by slice of queries; an encoder's before its decoder's."""
    if model.decoder is None or tokens.target is None:
        kind = next(iter(model.kinds))
        yield from _stack(_Pass(model, tokens, kind, text, block_rows, kept), {"attn": wanted.get(kind, {})}, kept.whole)
        return
    two = {"attn": wanted.get("decoder", {}), "cross": wanted.get("cross", {})}
    on = kept.whole or any(two.values())
    first = _Pass(model, tokens, "encoder", text, block_rows, kept.under("encoder_"))
    memory = yield from _stack(first, {"attn": wanted.get("encoder", {})}, on)
    if on and memory is not None:
        second = _Pass(model.decoder, tokens.target, "decoder", text, block_rows, kept.under("decoder_"))
        yield from _stack(second, two, kept.whole, (memory, tokens))


@dataclass(frozen=True)
class _Pass:
    """One stack's run over one text."""

    model: Model
    tokens: Tokens
    kind: str  # self encoder decoder
    text: int
    block_rows: int | None
    kept: Kept


def _stack(
    run: _Pass, wanted: Selections, whole: bool, memory: tuple[np.ndarray, Tokens] | None = None
) -> Generator[Block, None, np.ndarray | None]:
    """One stack's blocks; what it returns is the stream at its end, None where that was not needed.

    `wanted` says which heads of its own attention (attn) and of that to the encoder's output (cross); `memory` is that output.
    """
    model, spec, kept = run.model, run.model.spec, run.kept
    x = embedded = residual.embed(model, run.tokens)
    shared = _relative.shared(model)
    last = spec.n_layers - 1 if whole else max((layer for s in wanted.values() for layer in s), default=-1)
    kept.add("hidden_states", x)
    for layer in range(last + 1):
        ends = "" if whole or layer < last else "cross" if layer in wanted.get("cross", {}) else "attn"
        w = model.weights.layer(layer, skip=_SKIPPED[ends]) | shared
        inner = residual.before_attention(spec, x, w)
        attention = _Attention(run, layer, w, inner)
        yield from attention.run(wanted["attn"].get(layer, ()), kept, ends == "attn")
        if ends == "attn":
            return None
        attended = attention.output()
        if memory is not None:
            x = residual.before_cross(spec, x, attended, w)
            inner = residual.before_attention(spec, x, w, "cross.norm.")
            attention = _Attention(run, layer, crossing(w), inner, memory)
            yield from attention.run(wanted["cross"].get(layer, ()), kept.under("cross_"), ends == "cross")
            if ends == "cross":
                return None
            attended = attention.output()
        x = residual.after_attention(model, layer, x, inner, attended, w)
        x = residual.convolve(model, layer, embedded, x)
        if layer < spec.n_layers - 1:
            kept.add("hidden_states", x)
    return residual.end(model, x, kept)


class _Attention:
    """One layer's attention: q, k and v at once, then the weights slice by slice of queries."""

    def __init__(
        self,
        run: _Pass,
        layer: int,
        w: ops.Arrays,
        x: np.ndarray,
        memory: tuple[np.ndarray, Tokens] | None = None,
    ) -> None:
        """Queries come from `x`, keys too, or from the encoder's output where there is a `memory`."""
        self.pass_, self.model, self.layer, self.w, self.x, self.crosses = run, run.model, layer, w, x, memory is not None
        self.source, self.key_tokens = (x, run.tokens) if memory is None else memory
        self.spec = spec = run.model.spec if memory is None else run.model.spec.crossing()
        self.q = ops.qk_norm(_project(spec, x, w, "attn.q", spec.n_heads), w, "attn.q_norm.", spec)
        self.k = ops.qk_norm(_project(spec, self.source, w, "attn.k", spec.n_kv_heads), w, "attn.k_norm.", spec)
        rope = spec.rope_at(layer)
        if rope is not None:
            table = _rope.table(rope, len(x), x.dtype)
            self.q, self.k = _rope.rotate(self.q, rope, table), _rope.rotate(self.k, rope, table)
        self.z = np.empty((len(x), spec.n_heads, spec.d_v), x.dtype)

    @cached_property
    def v(self) -> np.ndarray:
        """(kv heads, keys, d_head)."""
        return _project(self.spec, self.source, self.w, "attn.v", self.spec.n_kv_heads)

    def run(self, wanted: tuple[int, ...], kept: Kept, only_weights: bool) -> Iterator[Block]:
        """The blocks of the `wanted` heads; unless only the weights matter, z is worked out as well, of all heads."""
        kept.add("q", self.q)
        kept.add("k", self.k)
        if only_weights:
            yield from self._slices(wanted, wanted, fill=False)
            return
        kept.add("v", self.v)
        yield from self._slices(tuple(range(self.spec.n_heads)), wanted, fill=True)

    def _slices(self, computed: tuple[int, ...], wanted: tuple[int, ...], *, fill: bool) -> Iterator[Block]:
        """Computes the weights of `computed` heads and yields those of `wanted`; `fill`: z as well, of all heads."""
        spec, n = self.spec, len(self.x)
        every = computed == tuple(range(spec.n_heads))
        group = spec.n_heads // spec.n_kv_heads
        q = self.q if every else self.q[list(computed)]
        kv = [h // group for h in computed]
        keys_of = self.k if kv == list(range(spec.n_kv_heads)) else self.k[kv]
        q = q * q.dtype.type(self.model.scale(self.layer))
        values = self.v[kv] if fill else None
        at = None if wanted == computed else [computed.index(h) for h in wanted]
        rows = self.pass_.block_rows or max(16, BLOCK_BYTES // max(1, len(computed) * len(self.source) * q.itemsize))
        for start in range(0, n, rows):
            queries = range(start, min(start + rows, n))
            keys = positions.visible_keys(spec, self.layer, queries, len(self.source))
            attn = q[:, queries.start : queries.stop] @ keys_of[:, keys.start : keys.stop].swapaxes(1, 2)
            if spec.softcap is not None:
                ops.softcap(attn, spec.softcap)
            self._add_bias(attn, computed, queries, keys)
            hidden = positions.forbidden(spec, self.layer, queries, keys)
            if hidden is not None:
                attn[:, hidden] = -np.inf
            ops.softmax(attn, self.w["attn.sinks"][list(computed)] if spec.sinks else None)
            self._check(attn, computed, queries)
            if values is not None:
                z = attn @ values[:, keys.start : keys.stop]
                self.z[queries.start : queries.stop] = z.swapaxes(0, 1)
            if wanted:
                yield self._block(attn if at is None else attn[at], wanted, queries, keys)

    def _add_bias(self, scores: np.ndarray, heads: tuple[int, ...], queries: range, keys: range) -> None:
        """What positions add to the scaled scores (heads, queries, keys), in place."""
        spec = self.spec
        if spec.relative is not None:
            scores += _relative.relative_bias(spec, spec.relative, self.w["relative"], heads, queries, keys)
        if spec.disentangled is not None:
            scale, some = scores.dtype.type(self.model.scale(self.layer)), list(heads)
            q = self.q[some, queries.start : queries.stop] * scale
            k = self.k[some, keys.start : keys.stop] * scale
            vectors = {side: v[some] for side, v in self._distances.items()}
            scores += _relative.distance_scores(spec.disentangled, vectors, q, k, queries, keys)
        if spec.alibi is not None:
            scores += positions.alibi_bias(spec, spec.alibi, heads, queries, keys).astype(scores.dtype)

    @cached_property
    def _distances(self) -> dict[str, np.ndarray]:
        """The vectors of distances as queries (q) and as keys (k), those that this layer has."""
        terms = self.spec.disentangled
        needed = {} if terms is None else {"k": "c2p" in terms.terms, "q": "p2c" in terms.terms}
        return {s: _relative.distance_vectors(self.spec, terms, self.w, s) for s, n in needed.items() if n and terms}

    def _block(
        self, attn: np.ndarray, heads: tuple[int, ...], queries: range, keys: range
    ) -> Block:
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

    def _check(self, attn: np.ndarray, heads: tuple[int, ...], queries: range) -> None:
        """Every row sums to one (less with sinks), on every run: weights that are NaN or infinite show here first."""
        total = attn.sum(-1)
        right = (total > (-1 if self.model.spec.sinks else 0.999)) & (total < 1.001)
        if right.all():
            return
        head, row = (int(i) for i in np.argwhere(~right)[0])
        raise CheckpointError(
            f"{quote(self.model.source)}: head L{self.layer}.H{heads[head]}, query {queries.start + row}: "
            "the attention weights do not sum to one",
            "the weights hold infinite or missing numbers; fetch the checkpoint again",
        )

    def output(self) -> np.ndarray:
        """What attention adds to the stream: the heads concatenated, through W_O; (tokens, d_model)."""
        z = self.z.reshape(len(self.z), -1)
        return ops.linear(z, self.w, "attn.o") if "attn.o.weight" in self.w else z

    def _value_norm(self, heads: tuple[int, ...], keys: range) -> np.ndarray:
        spec, group = self.spec, self.spec.n_heads // self.spec.n_kv_heads
        w = self._arrays()
        w_o, values = w.get("attn.o.weight"), _project(spec, self.source, w, "attn.v", spec.n_kv_heads)
        norms = np.empty((len(heads), len(keys)), self.x.dtype)
        for row, head in enumerate(heads):
            v = values[head // group, keys.start : keys.stop]
            if w_o is not None:
                v = v @ w_o[:, head * spec.d_v : (head + 1) * spec.d_v].T
            norms[row] = np.linalg.norm(v, axis=-1)
        return norms

    def _trace(self, head: int, query: int) -> Trace:
        from attn_cli.model.plain import trace

        return trace(self.spec, self._arrays(), self.x, self.layer, head, query, self.source)

    def _arrays(self) -> ops.Arrays:
        """All that attention needs, what this pass had no use for included."""
        part = self.model.weights.layer(self.layer, "cross." if self.crosses else "attn.")
        return {**self.w, **(crossing(part) if self.crosses else part)}


def crossing(w: ops.Arrays) -> dict[str, np.ndarray]:
    """The arrays of a layer's cross-attention, under the names of attention."""
    return {"attn." + name[len("cross.") :]: array for name, array in w.items() if name.startswith("cross.")}


def _project(spec: ModelSpec, x: np.ndarray, w: ops.Arrays, name: str, n_heads: int) -> np.ndarray:
    """Queries, keys or values: (tokens, d_model) -> (heads, tokens, d_head)."""
    y = ops.linear(x, w, name)
    if spec.qkv_clip is not None:
        np.clip(y, -spec.qkv_clip, spec.qkv_clip, out=y)
    return y.reshape(len(x), n_heads, -1).swapaxes(0, 1)
