"""Bytes to named arrays and back. One file per format; nothing here knows what a transformer is.

A format module has `sniff(head, path) -> bool` (do these first bytes, or this name, belong to it?), `open(path) -> Checkpoint`
and maybe `save(path, arrays, meta)`. Whatever a damaged or hostile file holds, `open` and `read` raise CheckpointError or
give arrays of the declared names, shapes and types: never another exception, never code from the file, never memory much
beyond the file's own size.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike


@dataclass(frozen=True, kw_only=True)
class TensorInfo:
    """What a file's header says of one tensor: `dtype` in the file's own spelling (F32, BF16, Q4_1), row-major `shape`."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int


class Checkpoint(ABC):
    """An open weight file, or several that belong together. Headers are read and checked; data is read when asked for."""

    path: Path
    format: str
    tensors: Mapping[str, TensorInfo]
    meta: Mapping[str, str]  # the file's own metadata, as text

    @abstractmethod
    def read(self, name: str, *, rows: Sequence[int] | None = None, dtype: DTypeLike = "float32") -> np.ndarray:
        """The tensor `name` (only `rows` of its first axis), read-only; floats come as `dtype`, integers as they are.

        KeyError if there is no such tensor, CheckpointError if its bytes cannot be decoded.
        """

    def close(self) -> None:  # noqa: B027 - a file that is only mapped has nothing to do here
        """Lets go of the file."""
