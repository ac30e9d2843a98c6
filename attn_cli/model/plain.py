"""The definition of attention, one query at a time, in the order of the papers and nothing fast about it.

The stream of blocks is tested against this file, and `explain` reads its traces. Vaswani 2017 (arXiv 1706.03762), section 3.2:
Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V, heads concatenated and projected.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from attn_cli.model import _relative, _rope, ops, positions, residual

if TYPE_CHECKING:
    from attn_cli.model import Model
    from attn_cli.spec import ModelSpec
    from attn_cli.tokens import Tokens


@dataclass(frozen=True, kw_only=True)
class Trace:
    """Every intermediate of one row of one head. Keys run over the whole text; forbidden ones are -inf, then zero."""

    x: np.ndarray  # (d_model,) what the query's token brings into attention
    q: np.ndarray  # (d_head,)
    k: np.ndarray  # (keys, d_head)
    v: np.ndarray  # (keys, d_head)
    scores: np.ndarray  # (keys,) q . k
    scaled: np.ndarray  # (keys,) times the scale
    capped: np.ndarray  # (keys,) c * tanh(scaled / c) where the model has a cap c; else the same
    biased: np.ndarray  # (keys,) plus what positions add
    masked: np.ndarray  # (keys,) -inf where the query may not look
    sink: float | None  # a logit that joins the softmax beside the keys, and takes its share of the weight
    weights: np.ndarray  # (keys,) softmax
    z: np.ndarray  # (d_head,) sum of weight times value
    output: np.ndarray  # (d_model,) z through the head's part of W_O


def scale(spec: ModelSpec, layer: int) -> float:
    """What q . k is multiplied by before the softmax."""
    base = 1 / math.sqrt(spec.d_head) if spec.scale is None else spec.scale
    return base / (layer + 1) if spec.inverse_layer_scale else base


def trace(
    spec: ModelSpec, w: ops.Arrays, x: np.ndarray, layer: int, head: int, query: int, source: np.ndarray | None = None
) -> Trace:
    """One row by the definition: `x` is (tokens, d_model), what enters this layer's attention; `w` the layer's arrays.

    Keys and values come from `x` too, or from `source`, the encoder's output.
    """
    source = x if source is None else source
    n = len(source)
    kv = head // (spec.n_heads // spec.n_kv_heads)

    def project(name: str, which: int, row: int) -> np.ndarray:
        vector = (x if name == "q" else source)[row]
        d = spec.d_v if name == "v" else spec.d_head
        y = w[f"attn.{name}.weight"] @ vector
        bias = w.get(f"attn.{name}.bias")
        y = y if bias is None else y + bias
        if spec.qkv_clip is not None:
            y = np.clip(y, -spec.qkv_clip, spec.qkv_clip)
        if name in "qk":
            y = ops.qk_norm(y.reshape(-1, 1, d), w, f"attn.{name}_norm.", spec).reshape(-1)
        y = y[which * d : (which + 1) * d]
        return _turn(spec, layer, y, row, n) if name in "qk" else y

    q = project("q", head, query)
    k = np.stack([project("k", kv, j) for j in range(n)])
    v = np.stack([project("v", kv, j) for j in range(n)])
    scores = np.array([q @ k[j] for j in range(n)])
    scaled = scores * scores.dtype.type(scale(spec, layer))
    cap = spec.softcap
    capped = scaled if cap is None else np.array([cap * np.tanh(s / cap) for s in scaled], x.dtype)
    biased = np.array([capped[j] + _bias(spec, w, layer, head, (query, j), (q, k[j])) for j in range(n)], x.dtype)
    masked = np.where([sees(spec, layer, query, j) for j in range(n)], biased, -np.inf)
    sink = float(w["attn.sinks"][head]) if spec.sinks else None
    top = masked.max() if sink is None else max(masked.max(), sink)
    exponentials = np.exp(masked - top)
    weights = exponentials / (exponentials.sum() + (0 if sink is None else math.exp(sink - top)))
    z = sum((weights[j] * v[j] for j in range(n)), np.zeros(spec.d_v, x.dtype))
    w_o = w.get("attn.o.weight")
    output = z if w_o is None else w_o[:, head * spec.d_v : (head + 1) * spec.d_v] @ z
    return Trace(
        x=x[query], q=q, k=k, v=v, scores=scores, scaled=scaled, capped=capped, biased=biased,
        masked=masked, sink=sink, weights=weights, z=z, output=output,
    )  # fmt: skip


def sees(spec: ModelSpec, layer: int, query: int, key: int) -> bool:
    """Whether the mask lets this query look at this key."""
    window = spec.window_at(layer)
    return (key <= query or not spec.causal) and (window is None or abs(query - key) < window)


def _bias(
    spec: ModelSpec, w: ops.Arrays, layer: int, head: int, places: tuple[int, int], vectors: tuple[np.ndarray, np.ndarray]
) -> float:
    """What positions add to one scaled score, of the query and the key at `places`."""
    (query, key), (q, k) = places, vectors
    if spec.relative is not None:
        bucket = _relative.buckets(spec.relative, np.array(key - query), causal=spec.causal)
        return float(w["relative"][bucket, head])
    if spec.disentangled is not None:
        terms = spec.disentangled
        at = _relative.distance_index(terms, np.array(key - query))
        added = sum(
            own @ _relative.distance_vectors(spec, terms, w, side)[head, at]
            for term, own, side in (("c2p", q, "k"), ("p2c", k, "q"))
            if term in terms.terms
        )
        return float(added) * scale(spec, layer)
    if spec.alibi is None:
        return 0.0
    return float(positions.alibi_bias(spec, spec.alibi, (head,), range(query, query + 1), range(key, key + 1)).item())


def _turn(spec: ModelSpec, layer: int, y: np.ndarray, position: int, n: int) -> np.ndarray:
    """Rotary positions, one pair of components at a time (Su 2021, arXiv 2104.09864, equation 34)."""
    rope = spec.rope_at(layer)
    if rope is None:
        return y
    turned = y.copy()
    for pair, frequency in enumerate(_rope.frequencies(rope, n)):
        a, b = (pair, pair + rope.dims // 2) if rope.pairs == "halves" else (2 * pair, 2 * pair + 1)
        angle = position * frequency
        cos, sin = rope.magnitude * math.cos(angle), rope.magnitude * math.sin(angle)
        turned[a], turned[b] = y[a] * cos - y[b] * sin, y[a] * sin + y[b] * cos
    return turned


def attention(model: Model, tokens: Tokens) -> np.ndarray:
    """All weights of a text by the definition: (layers, heads, queries, keys); an encoder-decoder's have kinds."""
    (found,) = kinds(model, tokens).values()
    return found


def kinds(model: Model, tokens: Tokens) -> dict[str, np.ndarray]:
    """All weights by the definition, of each kind there is: (layers, heads, queries, keys)."""
    if model.decoder is None or tokens.target is None:
        return {next(iter(model.kinds)): _stack(model, tokens)[0]["attn"]}
    encoder, memory = _stack(model, tokens)
    decoder, _ = _stack(model.decoder, tokens.target, memory)
    return {"encoder": encoder["attn"], "decoder": decoder["attn"], "cross": decoder["cross"]}


def _stack(
    model: Model, tokens: Tokens, memory: np.ndarray | None = None
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """One stack's weights, and the stream at its end; `memory` is the encoder's output, for a decoder."""
    from attn_cli.model.block import Kept
    from attn_cli.model.forward import crossing

    spec = model.spec
    x = embedded = residual.embed(model, tokens)
    found: dict[str, list[list[list[np.ndarray]]]] = {"attn": [], "cross": []}
    for layer in range(spec.n_layers):
        w = model.weights.layer(layer) | _relative.shared(model)
        inner = residual.before_attention(spec, x, w)
        weights, attended = _attend(spec, w, layer, inner, inner)
        found["attn"].append(weights)
        if memory is not None:
            x = residual.before_cross(spec, x, attended, w)
            inner = residual.before_attention(spec, x, w, "cross.norm.")
            weights, attended = _attend(spec.crossing(), crossing(w), layer, inner, memory)
            found["cross"].append(weights)
        x = residual.after_attention(model, layer, x, inner, attended, w)
        x = residual.convolve(model, layer, embedded, x)
    return {name: np.array(layers) for name, layers in found.items()}, residual.end(model, x, Kept())


def _attend(
    spec: ModelSpec, w: ops.Arrays, layer: int, x: np.ndarray, source: np.ndarray
) -> tuple[list[list[np.ndarray]], np.ndarray]:
    """All rows of all heads of one attention, and what they add to the stream."""
    rows = [[trace(spec, w, x, layer, h, i, source) for i in range(len(x))] for h in range(spec.n_heads)]
    attended = np.array([sum(rows[h][i].output for h in range(spec.n_heads)) for i in range(len(x))])
    if "attn.o.bias" in w:
        attended = attended + w["attn.o.bias"]
    return [[row.weights for row in head] for head in rows], attended.astype(x.dtype)
