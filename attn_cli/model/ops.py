"""The few operations a transformer is made of, on (tokens, width) arrays."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from attn_cli.spec import Activation, Conv, ModelSpec

Arrays = Mapping[str, np.ndarray]


def linear(x: np.ndarray, w: Arrays, name: str) -> np.ndarray:
    """x W^T + b with W (out, in): (tokens, in) -> (tokens, out); the bias is left out where the model has none."""
    y: np.ndarray = x @ w[name + ".weight"].T
    bias = w.get(name + ".bias")
    if bias is not None:
        y += bias
    return y


def norm(x: np.ndarray, w: Arrays, name: str, spec: ModelSpec) -> np.ndarray:
    """LayerNorm (Ba 2016, arXiv 1607.06450) or RMSNorm (Zhang and Sennrich 2019, arXiv 1910.07467) over the last axis.

    `name` is what stands before `weight` and `bias`, its dot included.
    """
    width = x.dtype.type(x.shape[-1])
    if spec.norm == "layer":
        x = x - x.sum(-1, keepdims=True) / width
    power = np.vecdot(x, x)[..., None] / width
    y: np.ndarray = x / np.sqrt(power + x.dtype.type(spec.norm_eps))
    gain = w.get(name + "weight")
    if gain is not None:
        y *= gain + x.dtype.type(spec.norm_offset) if spec.norm_offset else gain
    bias = w.get(name + "bias")
    if bias is not None:
        y += bias
    return y


def activate(x: np.ndarray, kind: Activation) -> np.ndarray:
    """The activation, elementwise; may write into `x`."""
    if kind == "tanh":
        np.tanh(x, out=x)
        return x
    if kind == "relu":
        np.maximum(x, 0, out=x)
        return x
    if kind == "relu2":
        np.maximum(x, 0, out=x)
        x *= x
        return x
    if kind == "silu":
        return _gated(x, -x)
    if kind == "quick_gelu":
        return _gated(x, x * x.dtype.type(-1.702))
    if kind == "gelu_tanh":  # Hendrycks and Gimpel 2016, arXiv 1606.08415, section 2, the tanh approximation
        inner: np.ndarray = np.square(x)  # (1 + tanh(u)) / 2 is 1 / (1 + exp(-2u))
        inner *= x.dtype.type(-2 * 0.7978845608028654 * 0.044715)
        inner += x.dtype.type(-2 * 0.7978845608028654)
        inner *= x
        return _gated(x, inner)
    if kind == "gelu_erf":  # the same section, exact: x * Phi(x)
        return _gelu(x)
    return x


def _gated(x: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """x / (1 + exp(inner)), in both arrays' place; where exp is infinite that is zero, as it should be."""
    with np.errstate(over="ignore"):
        np.exp(inner, out=inner)
    inner += 1
    x /= inner
    return x


_GELU_FAR = 1e3  # of x^2: Phi is 0 or 1 there, and the polynomials are still finite
_GELU_OVER, _GELU_UNDER = (-504.815236, -61.0133603, -3.31168636, -0.0345094416), (316.344836, 23.8324275)
_NEAR = 2**19  # numbers at a time: room for three arrays of them; with fewer the threads wait for each other more


def _gelu(x: np.ndarray) -> np.ndarray:
    """x Phi(x), in place where x allows: within 6e-7 for float32, exact for wider types.

    For float32 Phi(x) = 1 / (1 + exp(x R(x^2))), with a quotient R of two polynomials fitted by tests/reference/fit_gelu.py:
    one exp and a few products are several times faster than erf without its own instruction.
    """
    if x.dtype != np.float32:
        from math import erf

        phi = np.array([erf(v) for v in (x * 0.7071067811865476).ravel().tolist()], x.dtype).reshape(x.shape)
        exact: np.ndarray = (1 + phi) * x / 2
        return exact
    x = np.ascontiguousarray(x)
    flat = x.reshape(-1)
    room = np.empty((3, min(_NEAR, flat.size)), np.float32)
    for start in range(0, flat.size, _NEAR):
        part = flat[start : start + _NEAR]
        square, over, under = room[:, : part.size]
        np.multiply(part, part, out=square)
        np.minimum(square, np.float32(_GELU_FAR), out=square)
        np.multiply(square, np.float32(_GELU_OVER[-1]), out=over)
        for c in _GELU_OVER[-2:0:-1]:
            over += np.float32(c)
            over *= square
        over += np.float32(_GELU_OVER[0])
        over *= part
        np.add(square, np.float32(_GELU_UNDER[-1]), out=under)  # the first coefficient is one
        for c in _GELU_UNDER[-2::-1]:
            under *= square
            under += np.float32(c)
        over /= under
        _gated(part, over)
    return x


def mlp(x: np.ndarray, w: Arrays, spec: ModelSpec) -> np.ndarray:
    """The feed-forward layer, gated (Shazeer 2020, arXiv 2002.05202) or not: (tokens, d_model) likewise."""
    if spec.activation == "clamped_swiglu":
        hidden = _clamped_swiglu(linear(x, w, "mlp.gate"), linear(x, w, "mlp.up"), spec)
    elif spec.gated_mlp:
        hidden = activate(linear(x, w, "mlp.gate"), spec.activation)
        hidden *= linear(x, w, "mlp.up")
    else:
        hidden = activate(linear(x, w, "mlp.up"), spec.activation)
    return linear(hidden, w, "mlp.down")


def _clamped_swiglu(gate: np.ndarray, up: np.ndarray, spec: ModelSpec) -> np.ndarray:
    """(up + 1) * gate * sigmoid(alpha * gate), with both clamped before (gpt-oss model card, arXiv 2508.10925)."""
    limit, alpha = gate.dtype.type(spec.swiglu_limit), gate.dtype.type(spec.swiglu_alpha)
    gate, up = np.minimum(gate, limit), np.clip(up, -limit, limit)
    found: np.ndarray = (up + 1) * gate / (1 + np.exp(-alpha * gate))
    return found


def conv(x: np.ndarray, w: Arrays, conv: Conv) -> np.ndarray:
    """A convolution over neighbouring tokens, zero beyond the ends, and its activation: (tokens, d_model) likewise.

    The kernel is (out, in of a group, width) as in the file; each group of components is mixed on its own.
    """
    reach = conv.kernel // 2
    padded = np.pad(x, ((reach, reach), (0, 0)))
    y = np.empty_like(x)
    for outs, ins in zip(
        np.split(np.arange(x.shape[1]), conv.groups), np.split(padded, conv.groups, axis=1), strict=True
    ):
        kernel = w["weight"][outs]
        y[:, outs] = sum(ins[j : j + len(x)] @ kernel[:, :, j].T for j in range(conv.kernel))
    return activate(y + w["bias"], conv.activation)


def exponentials(scores: np.ndarray, sink: np.floating | None = None, *, shift: bool = True) -> np.ndarray:
    """exp of each score, in place, and what a row of them sums to: (rows, 1). Their quotient is the softmax.

    With `shift` the largest score of a row is subtracted first; without it the scores must be small. A `sink` is a logit that
    joins every sum and is then dropped, so that the weights of a row sum to less than one (gpt-oss, arXiv 2508.10925).
    """
    top: np.ndarray | None = None
    if shift:
        top = scores.max(-1, keepdims=True)
        if sink is not None:
            top = np.maximum(top, sink)
        top[~np.isfinite(top)] = 0
        scores -= top
    np.exp(scores, out=scores)
    # row by row: a product of the whole matrix with ones would round differently for another number of rows
    total: np.ndarray = np.vecdot(scores, np.ones(scores.shape[-1], scores.dtype))[..., None]
    if sink is not None:
        total += np.exp(sink if top is None else sink - top)
    return total


def softmax(scores: np.ndarray) -> np.ndarray:
    """Softmax over the last axis, in place."""
    scores /= exponentials(scores)
    return scores


def softcap(scores: np.ndarray, cap: float) -> np.ndarray:
    """cap * tanh(scores / cap), in place (Gemma 2, arXiv 2408.00118, section 2)."""
    scores /= scores.dtype.type(cap)
    np.tanh(scores, out=scores)
    scores *= scores.dtype.type(cap)
    return scores


def qk_norm(x: np.ndarray, w: Arrays, name: str, spec: ModelSpec) -> np.ndarray:
    """The norm of queries or keys before they meet (Henry 2020, arXiv 2010.04245): (heads, tokens, d_head) likewise."""
    if spec.qk_norm == "none":
        return x
    if spec.qk_norm == "head":
        return norm(x, w, name, spec)
    if spec.qk_norm == "per_head":  # a gain of its own for each head
        return norm(x, {name + "weight": w[name + "weight"][:, None, :]}, name, spec)
    heads, tokens, d_head = x.shape
    whole = norm(x.swapaxes(0, 1).reshape(tokens, heads * d_head), w, name, spec)
    return whole.reshape(tokens, heads, d_head).swapaxes(0, 1)


def entropy(rows: np.ndarray) -> np.ndarray:
    """Entropy in bits over the last axis (Shannon 1948, section 6); 0 log 0 is 0."""
    found = np.empty(rows.shape[:-1], rows.dtype)
    tiny = np.finfo(rows.dtype).tiny  # its logarithm is finite, so that 0 times it is 0
    for at in np.ndindex(rows.shape[:-2]):  # one matrix at a time stays in a core's cache
        some = np.maximum(rows[at], 0)
        logs = np.maximum(some, tiny)
        np.log2(logs, out=logs)
        found[at] = np.einsum("...k,...k->...", some, logs)
    return np.maximum(-found, 0)
