"""The definition of attention, one query at a time, in the order of the papers and nothing fast about it.

The stream of blocks is tested against this file, and `explain` reads its traces. Vaswani 2017 (arXiv 1706.03762), section 3.2:
Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V, heads concatenated and projected.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
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
    """Every intermediate of one row of one head. Keys run over the whole text; forbidden ones are -inf, then zero.

    The stages of q, k and v, those there are: linear (x W), biased, clipped, normed, turned; the last is q, k or v itself.
    """

    spec: ModelSpec
    arrays: ops.Arrays  # of the layer
    layer: int
    head: int
    kv_head: int
    stream: np.ndarray  # (d_model,) the residual stream at the query, before the norm where one stands there
    x: np.ndarray  # (d_model,) what the query's token brings into attention
    source: np.ndarray  # (keys, d_model) what the keys' tokens bring
    q_stages: Mapping[str, np.ndarray]  # (d_head,)
    k_stages: Mapping[str, np.ndarray]  # (keys, d_head)
    v_stages: Mapping[str, np.ndarray]  # (keys, d_head)
    q: np.ndarray  # (d_head,)
    k: np.ndarray  # (keys, d_head)
    v: np.ndarray  # (keys, d_head)
    scores: np.ndarray  # (keys,) q . k
    scale: float
    scaled: np.ndarray  # (keys,) times the scale
    capped: np.ndarray  # (keys,) c * tanh(scaled / c) where the model has a cap c; else the same
    biases: Mapping[str, np.ndarray]  # (keys,) what positions add: relative, alibi, or c2p and p2c
    biased: np.ndarray  # (keys,) with it
    masked: np.ndarray  # (keys,) -inf where the query may not look
    sink: float | None  # a logit that joins the softmax beside the keys, and takes its share of the weight
    top: float  # the largest logit, the sink's included; taken off before exp, which changes no weight
    exponentials: np.ndarray  # (keys,) exp(masked - top)
    total: float  # their sum, exp(sink - top) included
    weights: np.ndarray  # (keys,) softmax
    z: np.ndarray  # (d_head,) sum of weight times value
    output: np.ndarray  # (d_model,) z through the head's part of W_O


def trace(
    spec: ModelSpec,
    w: ops.Arrays,
    x: np.ndarray,
    layer: int,
    head: int,
    query: int,
    source: np.ndarray | None = None,
    stream: np.ndarray | None = None,
) -> Trace:
    """One row by the definition: `x` is (tokens, d_model), what enters this layer's attention; `w` the layer's arrays.

    Keys and values come from `x` too, or from `source`, the encoder's output. `stream` is what x is the norm of, if it is.
    """
    source = x if source is None else source
    n = len(source)
    kv = head // (spec.n_heads // spec.n_kv_heads)
    q_stages = {
        s: y[0] for s, y in _project(spec, w, layer, ("q", head), x[[query]], range(query, query + 1), n).items()
    }
    k_stages = _project(spec, w, layer, ("k", kv), source, range(n), n)
    v_stages = _project(spec, w, layer, ("v", kv), source, range(n), n)
    q, k, v = (list(stages.values())[-1] for stages in (q_stages, k_stages, v_stages))
    scores = np.array([q @ k[j] for j in range(n)])
    factor = spec.scale_at(layer)
    scaled = scores * scores.dtype.type(factor)
    cap = spec.softcap
    capped = scaled if cap is None else np.array([cap * np.tanh(s / cap) for s in scaled], x.dtype)
    biases = _biases(spec, w, layer, head, query, q, k)
    biased = (capped + sum(biases.values(), np.zeros(n))).astype(x.dtype)
    masked = np.where([sees(spec, layer, query, j) for j in range(n)], biased, -np.inf)
    sink = float(w["attn.sinks"][head]) if spec.sinks else None
    top = float(masked.max()) if sink is None else max(float(masked.max()), sink)
    exponentials = np.exp(masked - top)
    total = float(exponentials.sum()) + (0 if sink is None else math.exp(sink - top))
    weights = exponentials / total
    z = sum((weights[j] * v[j] for j in range(n)), np.zeros(spec.d_v, x.dtype))
    w_o = w.get("attn.o.weight")
    output = z if w_o is None else w_o[:, head * spec.d_v : (head + 1) * spec.d_v] @ z
    return Trace(
        spec=spec, arrays=w, layer=layer, head=head, kv_head=kv, stream=(x if stream is None else stream)[query],
        x=x[query], source=source, q_stages=q_stages, k_stages=k_stages, v_stages=v_stages, q=q, k=k, v=v, scores=scores,
        scale=factor, scaled=scaled, capped=capped, biases=biases, biased=biased, masked=masked, sink=sink, top=top,
        exponentials=exponentials, total=total, weights=weights, z=z, output=output,
    )  # fmt: skip


def _project(
    spec: ModelSpec,
    w: ops.Arrays,
    layer: int,
    which: tuple[str, int],
    rows: np.ndarray,
    places: range,
    n: int,
) -> dict[str, np.ndarray]:
    """The stages of one head's q, k or v of the tokens at `places`, by name and in order: (tokens, d_head) each.

    `which` is q, k or v and the head's number among those; `n` is the length of the text.
    """
    name, head = which
    d = spec.d_v if name == "v" else spec.d_head
    own = slice(head * d, (head + 1) * d)
    together = name != "v" and spec.qk_norm in ("whole", "per_head")  # the norm needs the other heads as well
    part = slice(None) if together else own
    y = rows @ w[f"attn.{name}.weight"][part].T
    stages = {"linear": y}
    bias = w.get(f"attn.{name}.bias")
    if bias is not None:
        stages["biased"] = y = y + bias[part]
    if spec.qkv_clip is not None:
        stages["clipped"] = y = np.clip(y, -spec.qkv_clip, spec.qkv_clip)
    if name != "v" and spec.qk_norm != "none":
        heads = y.reshape(len(y), -1, d).swapaxes(0, 1)
        stages["normed"] = ops.qk_norm(heads, w, f"attn.{name}_norm.", spec).swapaxes(0, 1).reshape(len(y), -1)
    if together:
        stages = {stage: y[:, own] for stage, y in stages.items()}
    if name != "v" and spec.rope_at(layer) is not None:
        stages["turned"] = _turn(spec, layer, list(stages.values())[-1], places, n)
    return stages


def sees(spec: ModelSpec, layer: int, query: int, key: int) -> bool:
    """Whether the mask lets this query look at this key."""
    window = spec.window_at(layer)
    return (key <= query or not spec.causal) and (window is None or abs(query - key) < window)


def _biases(
    spec: ModelSpec, w: ops.Arrays, layer: int, head: int, query: int, q: np.ndarray, k: np.ndarray
) -> dict[str, np.ndarray]:
    """What positions add to the scaled scores of a query, by its kind: (keys,) each."""
    ahead = np.arange(len(k)) - query
    if spec.relative is not None:
        return {
            "relative": w["attn.relative.weight"][_relative.buckets(spec.relative, ahead, causal=spec.causal), head]
        }
    if spec.disentangled is not None:
        terms = spec.disentangled
        at = _relative.distance_index(terms, ahead)
        sides = {"c2p": (q[None], "k"), "p2c": (k, "q")}
        return {
            term: (own * _relative.distance_vectors(spec, terms, w, side)[head, at]).sum(-1) * spec.scale_at(layer)
            for term, (own, side) in sides.items()
            if term in terms.terms
        }
    if spec.alibi is not None:
        return {"alibi": positions.alibi_bias(spec, spec.alibi, (head,), range(query, query + 1), range(len(k)))[0, 0]}
    return {}


def _turn(spec: ModelSpec, layer: int, y: np.ndarray, places: range, n: int) -> np.ndarray:
    """Rotary positions, one pair of components at a time (Su 2021, arXiv 2104.09864, equation 34): (tokens, d_head)."""
    rope = spec.rope_at(layer)
    if rope is None:
        return y
    turned = y.copy()
    for pair, frequency in enumerate(_rope.frequencies(rope, n)):
        a, b = (pair, pair + rope.dims // 2) if rope.pairs == "halves" else (2 * pair, 2 * pair + 1)
        angles = np.array(places) * frequency
        cos, sin = rope.magnitude * np.cos(angles), rope.magnitude * np.sin(angles)
        turned[:, a], turned[:, b] = y[:, a] * cos - y[:, b] * sin, y[:, a] * sin + y[:, b] * cos
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


def _stack(model: Model, tokens: Tokens, memory: np.ndarray | None = None) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """One stack's weights, and the stream at its end; `memory` is the encoder's output, for a decoder."""
    from attn_cli.model.attention import crossing
    from attn_cli.model.block import Kept

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
