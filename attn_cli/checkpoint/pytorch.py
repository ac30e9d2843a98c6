"""PyTorch's own files (.bin, .pt, .pth), zipped or in the older layout, without PyTorch and without unpickling; also in shards.

A file holds a pickle, which says what there is, and storages, which hold the numbers. `_pickle.py` walks the pickle's
opcodes and builds nothing but what a dict of tensors needs. Storages are mapped and read through their strides.
Written after torch.serialization's own account of both layouts.
"""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from attn_cli.checkpoint import Checkpoint, TensorInfo
from attn_cli.checkpoint._folder import AGAIN, HEAD, damaged, foreign, opened
from attn_cli.checkpoint._pickle import Refused, Storage, Tensor, unpickle
from attn_cli.checkpoint.npz import directory
from attn_cli.checkpoint.safetensors import CODES, MAX_DIMS, Sharded, deliver, row_index
from attn_cli.errors import quote

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from attn_cli.checkpoint.safetensors import Rows

INDEX = ".bin.index.json"
SUFFIXES = (".bin", ".pt", ".pth", ".ckpt")
NESTED = ("state_dict", "model_state_dict", "model", "module")  # under what key a dict of tensors may stand
WIDTHS = {"F64": 8, "I64": 8, "F32": 4, "I32": 4, "F16": 2, "BF16": 2, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}
_MAGIC = 0x1950A86A20F9469CFC6C  # the first thing in a file of the older layout
_HOW = "convert it where it was made: safetensors.torch.save_file(model.state_dict(), 'model.safetensors')"


def sniff(head: bytes, path: Path) -> bool:
    """Whether a file begins like PyTorch's (a pickle, or a zip archive of one), or is named so; also an index of shards."""
    zipped = head.startswith(b"PK\x03\x04") and b"data.pkl" in head[:200]
    pickled = head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")
    pickled = pickled and head[8:9] != b"{"  # the length of a safetensors header may begin with these bytes too
    return zipped or pickled or path.name.endswith(INDEX) or path.suffix in SUFFIXES


def open(path: Path) -> Checkpoint:
    """The tensors of one file, or of all shards that an index names; nothing in the file is run."""
    return Sharded(path, ".bin", _File) if path.name.endswith(INDEX) else _File(path)


class _File(Checkpoint):
    """One file of either layout, mapped into memory."""

    format = "pytorch"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.meta: Mapping[str, str] = {}
        self._map: mmap.mmap | None = None
        with opened(path) as file:
            self._size = os.fstat(file.fileno()).st_size
            head = file.read(HEAD)
            if not head.startswith((b"PK\x03\x04", b"\x80")):
                raise foreign(head, path) or damaged(path, "is no PyTorch file, though it is named like one")
            try:
                found, self._places = self._zipped(file) if head.startswith(b"PK") else self._old()
                self._state = _state(found)
            except Refused as refused:
                raise damaged(path, f"holds {refused}", _HOW) from None
            except (ValueError, IndexError) as error:
                what = f"is damaged or cut short, or no file of tensors: {error}"
                raise damaged(path, what) from None
        self.tensors = {name: self._info(name, tensor) for name, tensor in self._state.items()}

    def read(self, name: str, *, rows: Rows = None, dtype: DTypeLike = "float32") -> np.ndarray:
        info, tensor = self.tensors[name], self._state[name]
        index = ... if rows is None else row_index(info, rows)
        code = CODES[info.dtype]
        if not info.nbytes:
            array = np.zeros(info.shape, "<f4" if info.dtype == "BF16" else code)[index]
            return deliver(array, dtype)
        width = np.dtype(code).itemsize
        start = self._places[tensor.storage.key][0] + tensor.offset * width
        strides = tuple(step * width for step in tensor.strides)
        array = np.ndarray(info.shape, code, self._mapped(), start, strides)[index]
        if info.dtype == "BF16":
            wide = array.astype(np.uint32)
            wide <<= 16  # a bfloat16 is the upper half of a float32
            array = wide.view(np.float32)
        return deliver(array, dtype)

    def close(self) -> None:
        self._map = None  # arrays may still look into the map; the last of them frees it

    def _zipped(self, file: BinaryIO) -> tuple[Any, dict[str, tuple[int, int]]]:
        """The pickle's contents, and where each storage lies: (start, bytes)."""
        members = {}
        for entry in directory(file, self.path):
            if entry.flag_bits & 1 or entry.compress_type or entry.compress_size != entry.file_size:
                raise ValueError(f"{quote(entry.filename)} is packed or encrypted; PyTorch stores as it is")
            file.seek(min(max(entry.header_offset, 0), self._size))
            local = file.read(30)
            # The local header's name and extra field may differ in length from those in the directory.
            skip = 30 + int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little")
            start = entry.header_offset + skip
            if not local.startswith(b"PK\x03\x04") or start + entry.file_size > self._size:
                raise ValueError(f"{quote(entry.filename)} lies beyond the end of the file")
            members[entry.filename] = (start, entry.file_size)
        pickles = [name for name in members if name == "data.pkl" or name.endswith("/data.pkl")]
        if len(pickles) != 1:
            raise ValueError("no data.pkl in this zip archive, or several")
        root = pickles[0].removesuffix("data.pkl")
        order = members.get(f"{root}byteorder")
        if order and bytes(self._bytes(*order)) != b"little":
            raise ValueError("it was saved on a big-endian machine, which is not supported")
        prefix = f"{root}data/"
        places = {n.removeprefix(prefix): place for n, place in members.items() if n.startswith(prefix)}
        return unpickle(self._bytes(*members[pickles[0]]))[0], places

    def _old(self) -> tuple[Any, dict[str, tuple[int, int]]]:
        """As `_zipped`, of a file in the older layout: pickles one after the other, then the storages with their lengths."""
        data = memoryview(self._mapped())
        magic, at = unpickle(data)
        if magic != _MAGIC:
            raise ValueError("a pickle, but none of PyTorch's")
        version, at = unpickle(data, at)
        about, at = unpickle(data, at)
        if version != 1001 or not isinstance(about, dict) or about.get("little_endian") is not True:
            raise ValueError("saved by an unknown version, or on a big-endian machine")
        storages: dict[str, Storage] = {}
        found, at = unpickle(data, at, storages)
        keys, at = unpickle(data, at)
        places = {}
        for key in keys if isinstance(keys, list) else ():
            if not isinstance(key, str) or key not in storages or key in places:
                raise ValueError("the list of storages is not what its tensors need")
            count = int.from_bytes(data[at : at + 8], "little")
            size = count * WIDTHS[storages[key].dtype]
            if at + 8 + size > self._size:
                raise ValueError(f"expected at least {at + 8 + size:,} bytes, found {self._size:,}")
            places[key] = (at + 8, size)
            at += 8 + size
        return found, places

    def _info(self, name: str, tensor: Tensor) -> TensorInfo:
        """What a tensor is, once it is certain that all its elements lie in its storage."""
        storage, shape = tensor.storage, tensor.shape
        if storage.key not in self._places:
            what = f"holds tensor {quote(name)}, but not its storage {quote(storage.key)}"
            raise damaged(self.path, what, f"the download may be incomplete; {AGAIN}")
        held = self._places[storage.key][1] // WIDTHS[storage.dtype]
        count = math.prod(shape)
        last = tensor.offset + sum((n - 1) * step for n, step in zip(shape, tensor.strides, strict=True))
        sound = len(shape) <= MAX_DIMS and math.prod(n for n in shape if n) < 2**59 and count <= held
        if not sound or (count and last >= held):
            what = (
                f"holds tensor {quote(name)} of shape {quote(str(shape))}, which its storage of {held:,} numbers lacks"
            )
            raise damaged(self.path, what, f"it is truncated or damaged; {AGAIN}")
        return TensorInfo(name=name, dtype=storage.dtype, shape=shape, nbytes=count * WIDTHS[storage.dtype])

    def _bytes(self, start: int, size: int) -> memoryview:
        return memoryview(self._mapped())[start : start + size]

    def _mapped(self) -> mmap.mmap:
        if self._map is None:
            with opened(self.path) as file:
                if os.fstat(file.fileno()).st_size != self._size:
                    raise damaged(self.path, "has changed since it was opened", "run it again")
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return self._map


def _state(found: Any) -> dict[str, Tensor]:
    """The dict of tensors that was saved, or that stands under one of a training checkpoint's usual keys."""
    for _ in range(3):
        if not isinstance(found, dict):
            break
        tensors = {name: value for name, value in found.items() if isinstance(value, Tensor)}
        inner = next((found[key] for key in NESTED if isinstance(found.get(key), dict)), None)
        if tensors and inner is None:
            if not all(isinstance(name, str) for name in tensors):
                raise ValueError("its tensors have no names")
            wrapped = all(name.startswith("module.") for name in tensors)  # as DataParallel saves them
            return {name.removeprefix("module.") if wrapped else name: value for name, value in tensors.items()}
        found = inner
    raise Refused(f"no dict of tensors, neither by itself nor under {', '.join(NESTED)}")
