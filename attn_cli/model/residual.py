"""The residual stream outside of attention: how it begins, what each block adds, and how it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attn_cli.model import moe, ops, positions

if TYPE_CHECKING:
    from attn_cli.model import Model
    from attn_cli.model.block import Kept
    from attn_cli.spec import ModelSpec
    from attn_cli.tokens import Tokens


def embed(model: Model, tokens: Tokens) -> np.ndarray:
    """Token, position and segment vectors summed: (tokens, d_model)."""
    spec, weights = model.spec, model.weights
    x = model.inputs(tokens)
    if spec.embed_scale != 1:
        x *= x.dtype.type(spec.embed_scale)
    if spec.embed_project == "tokens":
        x = ops.linear(x, weights.part("embed"), "project")
    if spec.positions == "learned":
        x += weights.rows("embed.position", positions.rows(spec, tokens.ids))
    elif spec.positions == "sinusoidal_halves":
        x += positions.sinusoid_halves(len(x), spec.d_model, x.dtype)
    elif spec.positions == "sinusoidal":
        x += positions.sinusoids(len(x), spec.d_model, x.dtype) * x.dtype.type(2**0.5)
    if "embed.segment" in weights:
        x += weights.rows("embed.segment", (0,) * len(x) if spec.one_segment else tokens.segments)
    if spec.embed_project == "sum":
        x = ops.linear(x, weights.part("embed"), "project")
    if spec.embed_norm:
        x = ops.norm(x, weights.part("embed.norm"), "", spec)
    if spec.embed_project == "normed":
        x = ops.linear(x, weights.part("embed"), "project")
    return x


def before_attention(spec: ModelSpec, x: np.ndarray, w: ops.Arrays, name: str = "attn.norm.") -> np.ndarray:
    """What a block's attention reads: the stream, normed where the norm stands before and the layer has one."""
    before = spec.placement in ("pre", "parallel", "sandwich") and (name + "weight" in w or not spec.norm_weight)
    return ops.norm(x, w, name, spec) if before else x


def before_cross(spec: ModelSpec, x: np.ndarray, attended: np.ndarray, w: ops.Arrays) -> np.ndarray:
    """The stream between a decoder layer's own attention and that to the encoder."""
    return ops.norm(x + attended, w, "attn.norm.", spec) if spec.placement == "post" else x + attended


def after_attention(
    model: Model, layer: int, x: np.ndarray, inner: np.ndarray, attended: np.ndarray, w: ops.Arrays
) -> np.ndarray:
    """The residual stream after a block: attention added, then the MLP. `inner` is what attention read."""
    spec, placement = model.spec, model.spec.placement
    scale = x.dtype.type(spec.residual_scale)

    def mlp(y: np.ndarray) -> np.ndarray:
        if spec.n_experts:
            return moe.mlp(y, w, spec, lambda e: model.weights.expert(layer, e))
        return ops.mlp(y, w, spec)

    if placement == "bare":
        return x + attended
    if placement == "parallel":
        return x + attended + mlp(ops.norm(x, w, "mlp.norm.", spec) if spec.mlp_norm else inner)
    if placement == "post":
        x = ops.norm(x + attended, w, "cross.norm." if spec.cross else "attn.norm.", spec)
        return ops.norm(x + mlp(x), w, "mlp.norm.", spec)
    if placement == "pre":
        x = x + scale * attended
        return x + scale * mlp(ops.norm(x, w, "mlp.norm.", spec))
    x = x + ops.norm(attended, w, "attn.out_norm.", spec)
    added = mlp(ops.norm(x, w, "mlp.norm.", spec) if placement == "sandwich" else x)
    return x + ops.norm(added, w, "mlp.out_norm.", spec)


def convolve(model: Model, layer: int, embedded: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The stream after a block, joined after the first one by a convolution over the embeddings where the model has one."""
    spec = model.spec
    if spec.conv is None or layer:
        return x
    w = model.weights.part("conv")
    return ops.norm(x + ops.conv(embedded, w, spec.conv), w, "norm.", spec)


def end(model: Model, x: np.ndarray, kept: Kept) -> np.ndarray:
    """The stream after the last block and the final norm; logits, where they are asked for."""
    spec, weights = model.spec, model.weights
    if "last_block_output" in kept.names:
        kept.single[kept.prefix + "last_block_output"] = x.copy()
    if spec.final_norm:
        x = ops.norm(x, weights.part("final_norm"), "", spec)
    kept.add("hidden_states", x)
    end = x
    # a matrix of its own in the file counts, as in the reference, also where the config calls it tied
    name = "embed.token" if spec.tied_output and "head.weight" not in weights else "head.weight"
    if spec.embed_project == "tokens" and {"hidden_states", "logits"} & set(kept.names):
        x = ops.linear(x, {"head.weight": weights.read("head.project.weight")}, "head")
        kept.single[kept.prefix + "projected_out"] = x
    if "logits" in kept.names and spec.logits and name in weights:  # a file of the base model may have no head
        logits = weights.read(name) @ x[-1]
        if spec.head_bias and "head.bias" in weights:
            logits += weights.read("head.bias").reshape(-1)
        logits *= logits.dtype.type(spec.logit_scale)
        if spec.logit_softcap is not None:
            ops.softcap(logits, spec.logit_softcap)
        kept.single["logits"] = logits
    return end
