"""What stands around one attention, by the definition: how the stream begins, and how a head's output joins it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attn_cli.model import ops, residual

if TYPE_CHECKING:
    from attn_cli.model import Model
    from attn_cli.model.plain import Trace
    from attn_cli.tokens import Tokens


def matrices(trace: Trace) -> dict[str, np.ndarray]:
    """The head's own parts of W_Q, W_K, W_V (d_model, d_head) and W_O (d_head, d_model), for x @ W, and of their biases."""
    spec, found = trace.spec, {}
    for name, head, d in (
        ("q", trace.head, spec.d_head),
        ("k", trace.kv_head, spec.d_head),
        ("v", trace.kv_head, spec.d_v),
    ):
        part = slice(head * d, (head + 1) * d)
        found[f"W_{name.upper()}"] = trace.arrays[f"attn.{name}.weight"][part].T
        if f"attn.{name}.bias" in trace.arrays:
            found[f"b_{name.upper()}"] = trace.arrays[f"attn.{name}.bias"][part]
    if "attn.o.weight" in trace.arrays:
        found["W_O"] = trace.arrays["attn.o.weight"][:, trace.head * spec.d_v : (trace.head + 1) * spec.d_v].T
    if "attn.o.bias" in trace.arrays:
        found["b_O"] = trace.arrays["attn.o.bias"]
    return found


def rejoin(trace: Trace, attended: np.ndarray) -> dict[str, np.ndarray]:
    """How attention's output joins the residual stream at the query, by name and in order: (d_model,) each.

    normed or scaled, where the model does that to the output; sum, with the stream; after, the norm of that sum.
    """
    spec, w, stages = trace.spec, trace.arrays, {}
    if spec.placement in ("sandwich", "output"):
        stages["normed"] = attended = ops.norm(attended, w, "attn.out_norm.", spec)
    elif spec.residual_scale != 1 and spec.placement == "pre":
        stages["scaled"] = attended = attended * attended.dtype.type(spec.residual_scale)
    stages["sum"] = trace.stream + attended
    if spec.placement == "post":
        stages["after"] = ops.norm(stages["sum"], w, "attn.norm.", spec)
    return stages


def inputs(model: Model, tokens: Tokens) -> dict[str, np.ndarray]:
    """How the stream begins, by name and in order: token, position, segment; sum; normed, projected: (tokens, width) each."""
    spec, weights = model.spec, model.weights
    project = {f"project.{name}": array for name, array in weights.part("embed.project").items()}
    token = model.inputs(tokens)
    token = token * token.dtype.type(spec.embed_scale)
    if spec.embed_project == "tokens":
        token = ops.linear(token, project, "project")
    parts, n = {"token": token}, len(token)
    places = residual.placed(model, tokens, token.dtype)
    if places is not None:
        parts["position"] = places
    if "embed.segment" in weights:
        parts["segment"] = weights.rows("embed.segment", (0,) * n if spec.one_segment else tokens.segments)
    stages = {**parts, "sum": sum(parts.values(), np.zeros_like(token))}
    x = stages["sum"]
    if spec.embed_project == "sum":
        stages["projected"] = x = ops.linear(x, project, "project")
    if spec.embed_norm:
        stages["normed"] = x = ops.norm(x, weights.part("embed.norm"), "", spec)
    if spec.embed_project == "normed":
        stages["projected"] = ops.linear(x, project, "project")
    return stages
