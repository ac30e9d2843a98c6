"""The header of a GGUF file: metadata and the table of tensors, read in order and never beyond the file's end.

Written after the format's own description (github.com/ggml-org/ggml, docs/gguf.md).
"""

from __future__ import annotations

import math
import mmap
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attn_cli.checkpoint import TensorInfo
from attn_cli.checkpoint._blocks import TYPES
from attn_cli.errors import quote

MAX_ENTRIES = 2**16  # tensors, or keys, of one file; the largest models have a few thousand
MAX_DIMS = 4  # GGML has no more
MAX_NAME = 2**16 - 1  # bytes of a key; tensors' names are shorter still
_STRING, _ARRAY = 8, 9
_NUMBERS = dict(enumerate("u1 i1 <u2 <i2 <u4 <i4 <f4 ?".split())) | {10: "<u8", 11: "<i8", 12: "<f8"}
_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")


@dataclass(frozen=True)
class Span:
    """A list among the metadata that was measured but not read."""

    kind: int
    count: int
    start: int
    end: int


class Fields(Mapping[str, Any]):
    """The metadata: numbers, bools, texts; lists of numbers come as arrays, lists of texts as lists."""

    def __init__(self, values: Mapping[str, Any], data: Callable[[], mmap.mmap]) -> None:
        self._values, self._data = values, data

    def __getitem__(self, key: str) -> Any:
        value = self._values[key]
        if not isinstance(value, Span):
            return value
        if value.kind != _STRING:
            array = np.frombuffer(self._data(), _NUMBERS[value.kind].replace("?", "u1"), value.count, value.start)
            return array != 0 if value.kind == 7 else array
        data, at, texts, length = self._data()[value.start : value.end], 0, [], _U64.unpack_from
        for _ in range(value.count):
            begin = at + 8
            at = begin + length(data, at)[0]
            texts.append(data[begin:at].decode("utf-8", "replace"))
        return texts

    def __contains__(self, key: object) -> bool:
        return key in self._values  # without reading a list, as Mapping would

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


class Short(Exception):
    """The file ends before byte `args[0]`."""


class Unknown(Exception):
    """The file may be sound, but holds what this program does not know; the message says what."""


class Cursor:
    """Reads the header in order; whatever would reach beyond the file's end is refused before it is read."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data, self.at, self.size = data, 0, len(data)

    def skip(self, count: int) -> int:
        """Where the next `count` bytes start."""
        start, self.at = self.at, self.at + count
        if self.at > self.size:
            raise Short(self.at)
        return start

    def u32(self) -> int:
        value: int = _U32.unpack_from(self.data, self.skip(4))[0]
        return value

    def u64(self) -> int:
        value: int = _U64.unpack_from(self.data, self.skip(8))[0]
        return value

    def name(self) -> str:
        """A key, or a tensor's name."""
        length = self.u64()
        if length > MAX_NAME:
            raise ValueError(f"a name of {length:,} bytes")
        start = self.skip(length)
        return self.data[start : self.at].decode()

    def value(self, kind: int) -> Any:
        """One value of metadata; a list only as its place."""
        if kind == _STRING:
            length = self.u64()
            start = self.skip(length)
            return self.data[start : self.at].decode("utf-8", "replace")
        if kind == _ARRAY:
            inner, count = self.u32(), self.u64()
            start = self.at
            if inner == _STRING:
                self._texts(count)
            elif inner in _NUMBERS:
                self.skip(count * np.dtype(_NUMBERS[inner]).itemsize)
            else:
                raise ValueError(f"a list of type {inner}")
            return Span(inner, count, start, self.at)
        if kind not in _NUMBERS:
            raise ValueError(f"a value of type {kind}")
        code = _NUMBERS[kind].replace("?", "u1")
        number = np.frombuffer(self.data, code, 1, self.skip(np.dtype(code).itemsize)).item()
        return bool(number) if kind == 7 else number

    def _texts(self, count: int) -> None:
        """Passes over a list of texts, each of which takes 8 bytes at least."""
        if count > (self.size - self.at) // 8:
            raise Short(self.at + 8 * count)
        data, at, size, length = self.data, self.at, self.size, _U64.unpack_from
        for _ in range(count):
            if at + 8 > size:
                raise Short(at + 8)
            at += 8 + length(data, at)[0]
        self.at = at
        self.skip(0)


def header(cursor: Cursor) -> tuple[dict[str, Any], list[tuple[TensorInfo, int]], int]:
    """Metadata, the tensors with the places of their data, and where the data begins."""
    cursor.skip(8)
    n_tensors, n_values = cursor.u64(), cursor.u64()
    if max(n_tensors, n_values) > MAX_ENTRIES:
        raise ValueError(f"{n_tensors:,} tensors and {n_values:,} keys are announced, more than {MAX_ENTRIES:,}")
    values: dict[str, Any] = {}
    for _ in range(n_values):
        key = cursor.name()
        if key in values:
            raise ValueError(f"key {quote(key)} stands twice")
        values[key] = cursor.value(cursor.u32())
    alignment = values.get("general.alignment", 32)
    if type(alignment) is not int or not 0 < alignment <= 2**20 or alignment % 8:
        raise ValueError(f"general.alignment {quote(str(alignment))} is no multiple of 8")
    entries = [_tensor(cursor, alignment) for _ in range(n_tensors)]
    if len({info.name for info, _ in entries}) != n_tensors:
        raise ValueError("a tensor stands twice")
    return values, entries, -(-cursor.at // alignment) * alignment


def _tensor(cursor: Cursor, alignment: int) -> tuple[TensorInfo, int]:
    """One checked entry of the table; its sizes stand in the file with the fastest first."""
    name, dims = cursor.name(), cursor.u32()
    if dims > MAX_DIMS:
        raise ValueError(f"tensor {quote(name)} has {dims:,} dimensions")
    shape = tuple(reversed([cursor.u64() for _ in range(dims)]))
    kind, start = cursor.u32(), cursor.u64()
    if kind not in TYPES:
        raise Unknown(f"tensor {quote(name)} of type {kind}, which is not known")
    dtype, elements, size = TYPES[kind]
    if math.prod(n for n in shape if n) * max(size, 8) >= 2**63:
        raise ValueError(f"tensor {quote(name)} has the impossible shape {shape}")
    if elements > 1 and (not shape or shape[-1] % elements):
        raise ValueError(f"tensor {quote(name)} of shape {shape} is no whole number of {dtype} blocks in each row")
    if start % alignment:
        raise ValueError(f"tensor {quote(name)} begins at byte {start:,}, not at a multiple of {alignment}")
    return TensorInfo(name=name, dtype=dtype, shape=shape, nbytes=math.prod(shape) // elements * size), start
