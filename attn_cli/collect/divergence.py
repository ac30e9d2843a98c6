"""How different two rows of attention are."""

from __future__ import annotations

import numpy as np

from attn_cli.model.ops import entropy


def jensen_shannon(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Bits, 0 (the same) to 1 (no key in common), over the last axis; NaN where a row is all zero or not known.

    Lin 1991, IEEE Transactions on Information Theory 37(1), equation 4.1 with equal weights; between rows of attention as in
    Clark et al. 2019, arXiv 1906.04341, section 6. Rows are scaled to sum to one first.
    """
    p, q = _distribution(a), _distribution(b)
    found: np.ndarray = entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2
    unknown = np.isnan(p).any(-1) | np.isnan(q).any(-1)
    return np.where(unknown, np.nan, np.clip(found, 0, 1))


def _distribution(rows: np.ndarray) -> np.ndarray:
    total = rows.astype(np.float64).sum(-1, keepdims=True)
    return np.asarray(rows / np.where(total > 0, total, np.nan))
