"""The residual stream outside of attention: how it begins, what each block adds, and how it ends.

Weights that are no numbers give no warnings on the way: they are found by what comes of them, and named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attn_cli.errors import CheckpointError, quote
from attn_cli.model import moe, ops, positions

if TYPE_CHECKING:
    from attn_cli.model import Model
    from attn_cli.model.block import Kept
    from attn_cli.spec import ModelSpec
    from attn_cli.tokens import Tokens


@np.errstate(all="ignore")
def embed(model: Model, tokens: Tokens) -> np.ndarray:
    """Token, position and segment vectors summed: (tokens, d_model)."""
    spec, weights = model.spec, model.weights
    x = model.inputs(tokens)
    project = {f"project.{name}": array for name, array in weights.part("embed.project").items()}
    if spec.embed_scale != 1:
        x *= x.dtype.type(spec.embed_scale)
    if spec.embed_project == "tokens":
        x = ops.linear(x, project, "project")
    places = placed(model, tokens, x.dtype)
    if places is not None:
        x += places
    if "embed.segment" in weights:
        x += weights.rows("embed.segment", (0,) * len(x) if spec.one_segment else tokens.segments)
    if spec.embed_project == "sum":
        x = ops.linear(x, project, "project")
    if spec.embed_norm:
        x = ops.norm(x, weights.part("embed.norm"), "", spec)
    if spec.embed_project == "normed":
        x = ops.linear(x, project, "project")
    return x


def placed(model: Model, tokens: Tokens, dtype: np.dtype) -> np.ndarray | None:
    """The vectors of the tokens' places: (tokens, width), or None where places enter elsewhere or nowhere."""
    spec, weights, n = model.spec, model.weights, len(tokens)
    if spec.positions == "learned":
        return weights.rows("embed.position", positions.rows(spec, tokens.ids))
    if spec.positions == "sinusoidal_halves":
        return positions.sinusoid_halves(n, spec.d_model, dtype)
    if spec.positions == "sinusoidal_steps":
        return positions.sinusoid_steps(spec, tokens.ids, dtype)
    if spec.positions == "sinusoidal":
        found: np.ndarray = positions.sinusoids(n, spec.d_model, dtype) * dtype.type(2**0.5)
        return found
    return None


def before_attention(spec: ModelSpec, x: np.ndarray, w: ops.Arrays, name: str = "attn.norm.") -> np.ndarray:
    """What a block's attention reads: the stream, normed where the norm stands before and the layer has one."""
    before = spec.placement in ("pre", "parallel", "sandwich") and (name + "weight" in w or not spec.norm_weight)
    return ops.norm(x, w, name, spec) if before else x


@np.errstate(all="ignore")
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
        x = x + attended
    elif placement == "parallel":
        x = x + attended + mlp(ops.norm(x, w, "mlp.norm.", spec) if spec.mlp_norm else inner)
    elif placement == "post":
        x = ops.norm(x + attended, w, "cross.norm." if spec.cross else "attn.norm.", spec)
        x = ops.norm(x + mlp(x), w, "mlp.norm.", spec)
    elif placement == "pre":
        x = x + scale * attended
        x = x + scale * mlp(ops.norm(x, w, "mlp.norm.", spec))
    else:
        x = x + ops.norm(attended, w, "attn.out_norm.", spec)
        added = mlp(ops.norm(x, w, "mlp.norm.", spec) if placement == "sandwich" else x)
        x = x + ops.norm(added, w, "mlp.out_norm.", spec)
    return x


@np.errstate(all="ignore")
def convolve(model: Model, layer: int, embedded: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The stream after a block, joined after the first one by a convolution over the embeddings where the model has one."""
    spec = model.spec
    if spec.conv is None or layer:
        return x
    w = model.weights.part("conv")
    return ops.norm(x + ops.conv(embedded, w, spec.conv), w, "norm.", spec)


@np.errstate(all="ignore")
def end(model: Model, x: np.ndarray, kept: Kept) -> np.ndarray:
    """The stream after the last block and the final norm; logits, where they are asked for."""
    spec, weights = model.spec, model.weights
    if "last_block_output" in kept.names:
        kept.single[kept.prefix + "last_block_output"] = x.copy()
    if spec.final_norm:
        x = ops.norm(x, weights.part("final_norm"), "", spec)
    kept.add("hidden_states", x)
    if kept.names and not np.isfinite(x).all():
        raise CheckpointError(
            f"{quote(model.source)}: the hidden states after the last layer are not finite",
            "the weights hold infinite or missing numbers; fetch the checkpoint again",
        )
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
