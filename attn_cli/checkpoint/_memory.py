"""Arrays that are already in memory, under the same roof as files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attn_cli.checkpoint import Checkpoint, TensorInfo

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike


class Memory(Checkpoint):
    """A checkpoint over arrays; `path` says where they came from."""

    format = "memory"

    def __init__(self, arrays: Mapping[str, np.ndarray], *, path: str | Path = ".") -> None:
        self.path = Path(path)
        self.meta: Mapping[str, str] = {}
        self.arrays = dict(arrays)
        self.tensors = {
            name: TensorInfo(name=name, dtype=str(a.dtype), shape=a.shape, nbytes=a.nbytes)
            for name, a in arrays.items()
        }

    def read(self, name: str, *, rows: Sequence[int] | None = None, dtype: DTypeLike = "float32") -> np.ndarray:
        """The array, or some of its rows, as `dtype`."""
        array = self.arrays[name]
        return (array if rows is None else array[list(rows)]).astype(dtype, copy=False)
