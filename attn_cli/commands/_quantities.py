"""Every number of `explain` by name, arrays whole, for programs: enough to compute the weights again.

weights = softmax over the visible keys of: softcap * tanh(scale * (k @ q) / softcap), or scale * (k @ q) without a softcap,
plus the biases; a sink joins the sum and is dropped.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from attn_cli.commands._row import Row, Soft
from attn_cli.model import around


def quantities(row: Row, *, matrices: bool = False) -> dict[str, Any]:
    """The entry `explain` of the JSON document; `matrices` adds the head's own parts of the weights."""
    trace, spec = row.trace, row.trace.spec
    found: dict[str, Any] = {
        "kind": row.kind,
        "layer": row.layer,
        "head": row.head,
        "kv_head": trace.kv_head,
        "query": row.query,
        "key": row.key,
        "sizes": {
            "n_keys": len(trace.scores),
            "n_heads": spec.n_heads,
            "n_kv_heads": spec.n_kv_heads,
            "d_model": len(trace.x),
            "d_head": spec.d_head,
            "d_value": spec.d_v,
        },
        "inputs": None if row.inputs is None else _plain({name: y[row.query] for name, y in row.inputs.items()}),
        "stream": trace.stream,
        "x": trace.x,
        "x_keys": trace.source,
        "q_stages": trace.q_stages,
        "k_stages": trace.k_stages,
        "v_stages": trace.v_stages,
        "q": trace.q,
        "k": trace.k,
        "v": trace.v,
        "scores": trace.scores,
        "products": row.products,
        "scale": trace.scale,
        "scaled": trace.scaled,
        "softcap": spec.softcap,
        "capped": trace.capped,
        "biases": trace.biases,
        "biased": trace.biased,
        "visible": row.seen.tolist(),
        "logits": [float(a) if math.isfinite(a) else None for a in trace.masked],
        "sink": trace.sink,
        "softmax_of_scores": _soft(row.soft(trace.scores)),
        "softmax_of_scaled": _soft(row.soft(trace.scaled)),
        "max": trace.top,
        "exponentials": trace.exponentials,
        "exponential_sum": trace.total,
        "weights": trace.weights,
        "weighted_values": row.weighted,
        "shares_of_z": row.shares,
        "z": trace.z,
        "output": trace.output,
        "heads": [
            {"head": h, "weights": t.weights, "z": t.z, "output": t.output, "share": float(row.head_shares[h])}
            for h, t in enumerate(row.traces)
        ],
        "output_bias": row.output_bias,
        "output_bias_share": row.bias_share,
        "attention_output": row.attended,
        "residual": row.joined or None,
    }
    if matrices:
        found["matrices"] = around.matrices(trace)
    return _plain(found)


def _soft(soft: Soft) -> dict[str, float]:
    return {"spread": soft.spread, "entropy": soft.entropy, "slope": soft.slope}


def _plain(found: Mapping[str, Any]) -> dict[str, Any]:
    """The same with arrays as JSON takes them: contiguous, in the machine's own order of bytes."""
    plain: dict[str, Any] = {}
    for name, value in found.items():
        if isinstance(value, np.ndarray):
            plain[name] = np.ascontiguousarray(value, value.dtype.newbyteorder("="))
        elif isinstance(value, Mapping):
            plain[name] = _plain(value)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            plain[name] = [_plain(item) for item in value]
        else:
            plain[name] = value
    return plain
