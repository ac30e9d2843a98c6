"""A feed-forward layer of experts, of which a router picks a few for each token (Shazeer 2017, arXiv 1701.06538)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attn_cli.model import ops
from attn_cli.spec import ModelSpec


def mlp(x: np.ndarray, w: ops.Arrays, spec: ModelSpec, expert: Callable[[int], ops.Arrays]) -> np.ndarray:
    """The weighted sum of the chosen experts: (tokens, d_model) likewise. Only experts that some token chose are read."""
    logits = ops.linear(x, w, "mlp.router")  # (tokens, experts)
    chosen = np.argsort(-logits, axis=-1, kind="stable")[:, : spec.n_experts_used]
    if spec.expert_weights == "all":
        share = np.take_along_axis(ops.softmax(logits), chosen, -1)
    else:  # Jiang 2024, arXiv 2401.04088, section 2.1
        share = ops.softmax(np.take_along_axis(logits, chosen, -1))
    y = np.zeros_like(x)
    for e in np.unique(chosen):
        tokens, place = np.nonzero(chosen == e)
        y[tokens] += share[tokens, place, None] * ops.mlp(x[tokens], expert(int(e)), spec)
    return y
