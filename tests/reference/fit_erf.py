"""Fits the float32 erf of attn_cli/model/ops.py and prints its coefficients and its largest error.

erf(x) = x P(x^2) / Q(x^2) on |x| <= LIMIT, beyond which float32 cannot tell erf from 1. Linearised least squares on
Chebyshev points, reweighted by the last denominator (Sanathanan and Koerner 1963). Run: python tests/reference/fit_erf.py
"""

from __future__ import annotations

from math import erf

import numpy as np

LIMIT, DEGREE = 3.92, (5, 5)


def fit(rounds: int = 12, points: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    """Ascending coefficients of P and Q, Q's first being 1."""
    x = LIMIT * (1 - np.cos((np.arange(points) + 0.5) * np.pi / points)) / 2 + 1e-9
    y = np.array([erf(v) for v in x]) / x
    t = x * x
    p = t[:, None] ** np.arange(DEGREE[0] + 1)
    q = t[:, None] ** np.arange(1, DEGREE[1] + 1)
    denominator = np.ones_like(x)
    for _ in range(rounds):
        a = np.hstack([p, -y[:, None] * q]) * (x / denominator)[:, None]
        scale = np.abs(a).max(0)
        solution = np.linalg.lstsq(a / scale, y * x / denominator, rcond=None)[0] / scale
        numerator, rest = solution[: DEGREE[0] + 1], solution[DEGREE[0] + 1 :]
        denominator = 1 + q @ rest
    return numerator, np.concatenate([[1.0], rest])


if __name__ == "__main__":
    P, Q = fit()
    x = np.linspace(-6, 6, 200_001).astype(np.float32)
    t = np.square(np.clip(x, -LIMIT, LIMIT))
    top = np.zeros_like(x)
    for c in P[::-1]:
        top = top * t + np.float32(c)
    bottom = np.zeros_like(x)
    for c in Q[::-1]:
        bottom = bottom * t + np.float32(c)
    error = np.abs(np.clip(x, -LIMIT, LIMIT) * top / bottom - [erf(float(v)) for v in x])
    print("P =", tuple(float(f"{c:.9g}") for c in P))
    print("Q =", tuple(float(f"{c:.9g}") for c in Q))
    print(f"largest error in float32: {error.max():.2e}")
