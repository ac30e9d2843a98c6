"""Fits the float32 GELU of attn_cli/model/ops.py and prints its coefficients and its largest error.

Phi(x) = (1 + tanh(x P(x^2))) / 2 on |x| <= LIMIT, beyond which float32 cannot tell Phi from 0 or 1. Least squares on the
argument of tanh, weighted by what an error there does to x Phi(x), and reweighted towards the largest error (Lawson 1961).
Run: python tests/reference/fit_gelu.py
"""

from __future__ import annotations

from math import erf, erfc, sqrt

import numpy as np

LIMIT, TERMS = 5.6, 7


def fit(rounds: int = 60, points: int = 6000) -> np.ndarray:
    """Ascending coefficients of P."""
    x = np.linspace(1e-3, LIMIT, points)
    e, c = (np.array([f(v / sqrt(2)) for v in x]) for f in (erf, erfc))
    wanted = np.log((2 - c) / c) / 2  # the argument whose tanh is erf
    powers = x[:, None] ** (2 * np.arange(TERMS) + 1)
    weight = np.maximum(c * (2 - c) * x, 1e-12)
    for _ in range(rounds):
        scale = np.linalg.norm(powers * weight[:, None], axis=0)
        found = np.linalg.lstsq(powers * weight[:, None] / scale, wanted * weight, rcond=None)[0] / scale
        error = np.abs(x / 2 * (np.tanh(powers @ found) - e))
        weight *= (error / error.max() + 1e-3) ** 0.15
    return found


if __name__ == "__main__":
    from attn_cli.model.ops import activate

    print("P =", tuple(float(f"{c:.9g}") for c in fit()))
    x = np.linspace(-8, 8, 160_001).astype(np.float32)
    exact = np.array([v * (1 + erf(v / sqrt(2))) / 2 for v in x.astype(float)])
    print(f"largest error in float32: {np.abs(activate(x.copy(), 'gelu_erf') - exact).max():.2e}")
