"""GGUF, the format of llama.cpp, Ollama and LM Studio: metadata, a table of tensors, and their aligned data; also in parts.

Written after the format's own description (github.com/ggml-org/ggml, docs/gguf.md). Every length is tested against the
file before it is believed. Long lists of metadata (a vocabulary) become Python objects when they are asked for; data is
mapped, and its blocks are decoded as they are read.
"""

from __future__ import annotations

import math
import mmap
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from attn_cli.checkpoint import Checkpoint, TensorInfo
from attn_cli.checkpoint._blocks import PLAIN, decode
from attn_cli.checkpoint._folder import AGAIN, HEAD, PART, damaged, foreign, opened
from attn_cli.checkpoint._gguf import Cursor, Fields, Short, Span, Unknown, header
from attn_cli.checkpoint.safetensors import deliver, row_index
from attn_cli.errors import quote

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from attn_cli.checkpoint.safetensors import Rows

MAGIC = b"GGUF"


def sniff(head: bytes, path: Path) -> bool:
    """Whether a file begins like GGUF, or is named so."""
    return head.startswith(MAGIC) or path.suffix == ".gguf"


def open(path: Path) -> Checkpoint:
    """The tensors of one file, or of all parts where the file is one of several; headers are checked here."""
    first = _File(path)
    count = first.fields.get("split.count")
    return _Split(first, count) if type(count) is int and count > 1 else first


class Gguf(Checkpoint):
    """A checkpoint that brings its config and tokenizer along, as `fields`."""

    format = "gguf"
    fields: Fields


class _File(Gguf):
    """One GGUF file, mapped into memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._map: mmap.mmap | None = None
        with opened(path) as file:
            self._size = os.fstat(file.fileno()).st_size
            head = file.read(HEAD)
        version = _version(head, path)
        try:
            values, entries, self._data = header(Cursor(self._mapped()))
        except Short as short:
            raise self._cut(int(short.args[0])) from None
        except Unknown as unknown:
            raise damaged(path, f"holds {unknown}", "the file may be newer than this program, or damaged") from None
        except ValueError as error:
            detail = "a name is not UTF-8 text" if isinstance(error, UnicodeError) else str(error)
            raise damaged(path, f"has a damaged header: {detail}") from error
        self.version = version
        self.fields = Fields(values, self._mapped)
        self.meta = {key: str(value) for key, value in values.items() if not isinstance(value, Span)}
        self.tensors = {info.name: info for info, _ in entries}
        self._starts = {info.name: start for info, start in entries}
        end = max((self._data + start + info.nbytes for info, start in entries), default=0)
        if end > self._size:
            raise self._cut(end)
        _check_overlap(entries, path)

    def read(self, name: str, *, rows: Rows = None, dtype: DTypeLike = "float32") -> np.ndarray:
        info = self.tensors[name]
        index = None if rows is None else row_index(info, rows)
        code, start = PLAIN.get(info.dtype), self._data + self._starts[name]
        if not math.prod(info.shape):
            shape = info.shape if index is None else (len(index), *info.shape[1:])
            return deliver(np.zeros(shape, np.float32 if code in (None, "<u2") else code), dtype)
        packed = np.frombuffer(self._mapped(), np.uint8, info.nbytes, start)
        if code is None:
            return deliver(self._decoded(info, packed, index), dtype)
        array = np.frombuffer(packed, code).reshape(info.shape)
        array = array if index is None else array[index]
        if info.dtype == "BF16":
            wide = array.astype(np.uint32)
            wide <<= 16  # a bfloat16 is the upper half of a float32
            array = wide.view(np.float32)
        return deliver(array, dtype)

    def close(self) -> None:
        self._map = None  # arrays may still look into the map; the last of them frees it

    def _decoded(self, info: TensorInfo, packed: np.ndarray, index: np.ndarray | None) -> np.ndarray:
        """The numbers of a quantised tensor; only the rows asked for are unpacked, where rows are whole blocks."""
        shape = info.shape
        if index is not None and len(shape) > 1:
            packed, shape = packed.reshape(shape[0], -1)[index].reshape(-1), (len(index), *shape[1:])
            index = None
        try:
            array = decode(packed, info.dtype).reshape(shape)
        except NotImplementedError:
            what = f"holds tensor {quote(info.name)} of type {info.dtype}, which cannot be decoded"
            raise damaged(self.path, what, "use a file quantised in another way") from None
        return array if index is None else array[index]

    def _mapped(self) -> mmap.mmap:
        if self._map is None:
            with opened(self.path) as file:
                if os.fstat(file.fileno()).st_size != self._size:
                    raise damaged(self.path, "has changed since it was opened", "run it again")
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return self._map

    def _cut(self, expected: int) -> Exception:
        what = f"is truncated: expected at least {expected:,} bytes, found {self._size:,}"
        return damaged(self.path, what, f"the download may be incomplete; {AGAIN}")


class _Split(Gguf):
    """All parts of a model that was cut into several files, found by their names beside the one that was opened."""

    def __init__(self, one: _File, count: int) -> None:
        named = PART.fullmatch(one.path.name)
        if named is None or int(named["count"]) != count:
            what = f"is one of {count} parts, but its name does not say which: NAME-00001-of-{count:05}.gguf"
            raise damaged(one.path, what, "give all parts their original names")
        paths = [one.path.parent / f"{named['stem']}-{i + 1:05}-of-{count:05}.gguf" for i in range(count)]
        missing = [quote(path.name) for path in paths if not os.path.exists(path)]
        if missing:
            some = ", ".join(missing[:4]) + (" ..." if len(missing) > 4 else "")
            what = f"is one of {count} parts; {len(missing)} not found beside it: {some}"
            raise damaged(one.path, what, "fetch the missing parts into the same folder")
        files = [one if path == one.path else _File(path) for path in paths]
        for number, file in enumerate(files):
            if file.fields.get("split.count") != count or file.fields.get("split.no") != number:
                what = f"does not say of itself that it is part {number + 1} of {count}, as its name does"
                raise damaged(file.path, what, "give all parts their original names")
        self.path, self.fields, self.meta = files[0].path, files[0].fields, files[0].meta
        self._files = files
        self._where = {name: file for file in files for name in file.tensors}
        self.tensors = {name: file.tensors[name] for name, file in self._where.items()}
        held, wanted = sum(len(file.tensors) for file in files), self.fields.get("split.tensors.count")
        if held != len(self.tensors) or wanted not in (None, held):
            what = f"and its other parts hold {held} tensors, {wanted} expected, none of them twice"
            raise damaged(self.path, what, "the parts must be of one model: fetch them together again")

    def read(self, name: str, *, rows: Rows = None, dtype: DTypeLike = "float32") -> np.ndarray:
        return self._where[name].read(name, rows=rows, dtype=dtype)

    def close(self) -> None:
        for file in self._files:
            file.close()


def _version(head: bytes, path: Path) -> int:
    """The version of the format, of which 2 and 3 are read."""
    if not head.startswith(MAGIC):
        raise foreign(head, path) or damaged(path, "is not a GGUF file, though it is named like one")
    version = int.from_bytes(head[4:8], "little")
    if version in (2, 3):
        return version
    if len(head) < 24:
        raise damaged(path, f"is truncated: expected at least 24 bytes, found {len(head)}")
    if int.from_bytes(head[4:8], "big") in (1, 2, 3):
        hint = "convert it: gguf-convert-endian FILE little (of the gguf package)"
        raise damaged(path, "is a big-endian GGUF file, which is not supported", hint)
    raise damaged(path, f"is GGUF version {version}; versions 2 and 3 are read", "convert it with a newer llama.cpp")


def _check_overlap(entries: list[tuple[TensorInfo, int]], path: Path) -> None:
    end, previous = 0, ""
    for start, stop, name in sorted((start, start + info.nbytes, info.name) for info, start in entries if info.nbytes):
        if start < end:
            raise damaged(path, f"has a damaged header: tensor {quote(name)} overlaps {quote(previous)}")
        end, previous = stop, name
