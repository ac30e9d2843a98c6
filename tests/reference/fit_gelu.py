"""Fits the float32 GELU of attn_cli/model/ops.py and prints its coefficients and its largest error.

Phi(x) = 1 / (1 + exp(x R(x^2))), R = (a0 + a1 s + a2 s^2 + a3 s^3) / (b0 + b1 s + s^2), fitted on |x| <= LIMIT, beyond which
float32 cannot tell Phi from 0 or 1. Least squares, weighted by what an error of the exponent does to x Phi(x), divided
by the denominator of the last round (Sanathanan and Koerner 1963), and reweighted towards the largest error
(Lawson 1961). Run: python tests/reference/fit_gelu.py
"""

from __future__ import annotations

from math import erf, erfc, sqrt

import numpy as np

LIMIT, OVER, UNDER = 5.6, 3, 2  # OVER and UNDER: the degrees


def fit(rounds: int = 400, points: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    """Ascending coefficients of the numerator, and of the denominator without its leading one."""
    x = np.linspace(1e-3, LIMIT, points)
    rest = np.array([erfc(v / sqrt(2)) for v in x]) / 2  # 1 - Phi(x)
    wanted = np.log(rest / (1 - rest)) / x  # R
    s = x[:, None] ** 2 / LIMIT**2
    felt = np.maximum(x * rest * (1 - rest), 1e-13)  # by how much x Phi(x) moves with the exponent
    towards, under = np.ones_like(x), np.ones_like(x)
    best = (np.inf, np.zeros(OVER + UNDER + 1))
    for _ in range(rounds):
        weight = felt * x * towards / np.abs(under)
        rows = np.hstack([s ** np.arange(OVER + 1), -wanted[:, None] * s ** np.arange(1, UNDER + 1)]) * weight[:, None]
        scale = np.linalg.norm(rows, axis=0)
        found = np.linalg.lstsq(rows / scale, wanted * weight, rcond=1e-15)[0] / scale
        under = 1 + s ** np.arange(1, UNDER + 1) @ found[OVER + 1 :]
        error = np.abs(felt * x * (s ** np.arange(OVER + 1) @ found[: OVER + 1] / under - wanted))
        best = min(best, (error.max(), found), key=lambda pair: pair[0])
        towards *= (error / error.max() + 1e-3) ** 0.1
        towards /= towards.max()
    over = best[1][: OVER + 1] / LIMIT ** (2 * np.arange(OVER + 1))
    below = np.append(1, best[1][OVER + 1 :] / LIMIT ** (2 * np.arange(1, UNDER + 1)))
    return over / below[-1], below[:-1] / below[-1]


if __name__ == "__main__":
    from attn_cli.model.ops import activate

    for name, coefficients in zip(("over ", "under"), fit(), strict=True):
        print(name, "=", tuple(float(f"{c:.9g}") for c in coefficients))
    x = np.linspace(-8, 8, 160_001).astype(np.float32)
    exact = np.array([v * (1 + erf(v / sqrt(2))) / 2 for v in x.astype(float)])
    print(f"largest error in float32: {np.abs(activate(x.copy(), 'gelu_erf') - exact).max():.2e}")
