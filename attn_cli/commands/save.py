"""`save`: the weights in use, written to a file that gives the same numbers again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from attn_cli.errors import UsageError
from attn_cli.model.bare import to_arrays

if TYPE_CHECKING:
    import numpy as np

    from attn_cli.model import Model


def save(model: Model) -> tuple[Mapping[str, np.ndarray], Mapping[str, str]]:
    """The arrays and the metadata to write, from random or bare weights."""
    if model.bare is None:
        raise UsageError("save writes random and bare attention weights only", "copy the checkpoint's folder instead")
    return to_arrays(model.bare)
