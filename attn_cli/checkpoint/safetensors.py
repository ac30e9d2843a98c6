"""The safetensors format: a length, a JSON header, the tensors' bytes without holes; also in shards.

Written after the format's own description (github.com/huggingface/safetensors, "Format"). The header is
checked whole before any data is touched. Data is mapped: a tensor costs nothing until its numbers are used.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attn_cli.checkpoint import Checkpoint, TensorInfo
from attn_cli.checkpoint._folder import AGAIN, HEAD, INDEX, damaged, foreign, opened, read_json
from attn_cli.errors import CheckpointError, quote

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    Rows = Sequence[int] | None

BITS = {"BOOL": 8, "U8": 8, "I8": 8, "U16": 16, "I16": 16, "U32": 32, "I32": 32, "U64": 64, "I64": 64}
BITS |= {"F16": 16, "BF16": 16, "F32": 32, "F64": 64, "C64": 64, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6}
BITS |= {f"F8_{kind}": 8 for kind in ("E4M3", "E5M2", "E8M0", "E4M3FNUZ", "E5M2FNUZ")}
CODES = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "BF16": "<u2", "BOOL": "?", "U8": "u1", "I8": "i1"}
CODES |= {f"{kind}{8 * size}": f"<{kind.lower()}{size}" for kind in "IU" for size in (2, 4, 8)}
MAX_DIMS = 64  # as many as NumPy has
MAX_ENTRIES = 250_000  # tensors, or metadata, of one file; more only a hostile file has
ENTRY_LIMIT = 4096  # characters of one tensor's description; 64 sizes of 20 digits fit
INDEX_LIMIT = 64 * 2**20
_DECODER, _PAIRS = json.JSONDecoder(), json.JSONDecoder(object_pairs_hook=list)
_SPACE = re.compile(r"[ \t\r\n]*")


def sniff(head: bytes, path: Path) -> bool:
    """Whether a file begins like a safetensors file, or is named like one or like an index of shards."""
    return head[6:9] == b"\0\0{" or path.name.endswith((".safetensors", INDEX))


def open(path: Path) -> Checkpoint:
    """The tensors of one file, or of all shards that an index names; all headers are checked here."""
    return Sharded(path, ".safetensors", _File) if path.name.endswith(INDEX) else _File(path)


def save(
    path: Path,
    arrays: Mapping[str, np.ndarray],
    meta: Mapping[str, str],
    types: Mapping[str, tuple[str, tuple[int, ...]]] | None = None,
) -> None:
    """Writes arrays of the types that the format has; equal arrays give equal bytes.

    `types`, the type and shape of each array, lets arrays that are made as they are asked for be written one by one.
    """
    codes = {np.dtype(code): name for name, code in CODES.items() if name != "BF16"}
    if types is None:
        types = {n: (codes.get(a.dtype.newbyteorder("<"), str(a.dtype)), a.shape) for n, a in arrays.items()}
    header: dict[str, Any] = {"__metadata__": dict(sorted(meta.items()))} if meta else {}
    # Wide types first keeps every tensor aligned to its own size.
    order = sorted(types, key=lambda name: (-BITS.get(types[name][0], 0), name))
    end = 0
    for name in order:
        code, shape = types[name]
        if code not in CODES or name == "__metadata__":
            what = f"array {quote(name)} of type {code}"
            raise CheckpointError(f"a safetensors file cannot hold {what}", "save as .npz instead")
        start, end = end, end + math.prod(shape) * BITS[code] // 8
        header[name] = {"dtype": code, "shape": list(shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in order:
            file.write(np.asarray(arrays[name], CODES[types[name][0]], order="C").reshape(-1).view(np.uint8).data)


def deliver(array: np.ndarray, dtype: DTypeLike) -> np.ndarray:
    """The array as `read` gives it: floats as `dtype`, native, aligned, read-only; copied only if needed."""
    if array.dtype.kind == "f":
        with np.errstate(all="ignore"):  # what `dtype` cannot hold becomes inf; the model's checks see that
            array = array.astype(dtype, copy=False)
    elif array.dtype.kind == "b":
        array = array.view(np.uint8) != 0  # a file may hold other bytes than 0 and 1; NumPy's bool must not
    array = np.require(array.astype(array.dtype.newbyteorder("="), copy=False), requirements="A")
    array.setflags(write=False)
    return array


def row_index(info: TensorInfo, rows: Sequence[int]) -> np.ndarray:
    """The rows as an index array; IndexError unless each is one of the tensor's, counted from 0."""
    index = np.asarray(rows, dtype=np.intp).reshape(-1)
    length = info.shape[0] if info.shape else 0
    if index.size and (index.min() < 0 or index.max() >= length):
        raise IndexError(f"{quote(info.name)} has {length} rows, not {index.min()} to {index.max()}")
    return index


class _File(Checkpoint):
    """One safetensors file; mapped into memory at the first read."""

    format = "safetensors"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._map: mmap.mmap | None = None
        with opened(path) as file:
            self._size = os.fstat(file.fileno()).st_size
            head = file.read(8)
            length = int.from_bytes(head, "little")
            if len(head) < 8 or length > self._size - 8:
                sizes = f"a header of {length:,} bytes is announced, the file has {self._size:,}"
                what = f"is truncated or no safetensors file: {sizes}"
                raise foreign(head + file.read(HEAD), path) or damaged(path, what)
            text = file.read(length)
        self._data = 8 + length
        self.tensors, self.meta, self._starts = _parse(text, path)
        end = max((start + self.tensors[name].nbytes for name, start in self._starts.items()), default=0)
        if self._data + end != self._size:
            what = "is truncated" if self._data + end > self._size else "has bytes that belong to no tensor"
            sizes = f"{self._data + end:,} bytes expected, {self._size:,} found"
            raise damaged(path, f"{what}: {sizes}", f"the download may be incomplete; {AGAIN}")
        _check_order(self.tensors, self._starts, path)

    def read(self, name: str, *, rows: Rows = None, dtype: DTypeLike = "float32") -> np.ndarray:
        info = self.tensors[name]
        code = CODES.get(info.dtype)
        if code is None:
            what = f"holds tensor {quote(name)} of type {info.dtype}, which cannot be read yet"
            raise damaged(self.path, what, "use weights in F32, F16 or BF16")
        if info.nbytes:
            array = np.ndarray(info.shape, code, self._mapped(), self._data + self._starts[name])
        else:
            array = np.zeros(info.shape, code)
        if rows is not None:
            array = array[row_index(info, rows)]
        if info.dtype == "BF16":
            wide = array.astype(np.uint32)
            wide <<= 16  # a bfloat16 is the upper half of a float32
            array = wide.view(np.float32)
        return deliver(array, dtype)

    def close(self) -> None:
        # Arrays may still look into the map; mmap.close() would take it from under them. The last frees it.
        self._map = None

    def _mapped(self) -> mmap.mmap:
        if self._map is None:
            with opened(self.path) as file:
                if os.fstat(file.fileno()).st_size != self._size:
                    raise damaged(self.path, "has changed since it was opened", "run it again")
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return self._map


class Sharded(Checkpoint):
    """The tensors that an index places in several files of its own folder, whose names end in `suffix`."""

    def __init__(self, path: Path, suffix: str, open_one: Callable[[Path], Checkpoint]) -> None:
        self.path, self.format = path, suffix
        index = read_json(path, INDEX_LIMIT)
        places, about = index.get("weight_map"), index.get("metadata")
        if not isinstance(places, dict) or not all(isinstance(shard, str) for shard in places.values()):
            raise damaged(path, "has no weight_map from tensor names to files")
        for shard in (shards := sorted(set(places.values()))):
            if shard.startswith(".") or not shard.endswith(suffix) or set(shard) & set("/\\:\0"):
                what = f"names the shard {quote(shard)}, but shards must be plain {suffix} file names"
                raise damaged(path, what, "use an index from a source you trust, beside its files")
        missing = [quote(shard) for shard in shards if not os.path.exists(path.parent / shard)]
        if missing:
            what = f"names {', '.join(missing[:4])}, not found ({len(missing)} of {len(shards)} missing)"
            raise damaged(path, what, "the download may be incomplete: fetch the missing files")
        files = {shard: open_one(path.parent / shard) for shard in shards}
        self.format = next((file.format for file in files.values()), self.format)
        self._files = {name: files[shard] for name, shard in places.items()}
        lost = [name for name, file in self._files.items() if name not in file.tensors]
        if lost:
            what = f"places tensor {quote(lost[0])} in {quote(places[lost[0]])}, which lacks it"
            raise damaged(path, what, "index and shards differ: download them together again")
        self.tensors = {name: file.tensors[name] for name, file in self._files.items()}
        self.meta = {key: value for file in files.values() for key, value in file.meta.items()}
        if isinstance(about, dict):
            self.meta |= {k: str(value) for k, value in about.items() if isinstance(value, str | int | float)}

    def read(self, name: str, *, rows: Rows = None, dtype: DTypeLike = "float32") -> np.ndarray:
        return self._files[name].read(name, rows=rows, dtype=dtype)

    def close(self) -> None:
        for file in self._files.values():
            file.close()


class _Cursor:
    """Walks a JSON text entry by entry, so that a hostile header never becomes a tree of objects."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def take(self, wanted: str) -> str:
        """The next character that is no white space, one of `wanted`."""
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at
        found = self.text[self.at : self.at + 1]
        if not found or found not in wanted:
            raise ValueError(f"{' or '.join(wanted)} expected at character {self.at}")
        self.at += 1
        return found

    def string(self) -> str:
        """The rest of a string whose opening quote was taken."""
        value: str
        value, self.at = _DECODER.raw_decode(self.text, self.at - 1)
        value.encode()  # half a surrogate pair is no text: ValueError
        return value

    def keys(self) -> Iterator[str]:
        """Each key of the object that begins here; the caller takes its value before asking for the next."""
        self.take("{")
        seen: set[str] = set()
        closed = self.take('"}') == "}"
        while not closed:
            key = self.string()
            if key in seen or len(seen) == MAX_ENTRIES:
                raise ValueError(f"{quote(key)} stands twice, or there are more than {MAX_ENTRIES:,} names")
            seen.add(key)
            self.take(":")
            yield key
            closed = self.take(",}") == "}"
            if not closed:
                self.take('"')

    def entry(self) -> dict[str, Any]:
        """A small object without objects inside."""
        self.take("{")
        start, self.at = self.at - 1, self.text.find("}", self.at, self.at + ENTRY_LIMIT) + 1
        if not self.at:
            raise ValueError(f"no entry of a tensor at character {start}")
        pairs: list[tuple[str, Any]] = _PAIRS.decode(self.text[start : self.at])
        if len(pairs) != len(dict(pairs)):
            raise ValueError(f"a key stands twice in the entry at character {start}")
        return dict(pairs)


def _parse(text: bytes, path: Path) -> tuple[dict[str, TensorInfo], dict[str, str], dict[str, int]]:
    """Tensors, metadata and the start of each tensor's bytes in the data part."""
    tensors: dict[str, TensorInfo] = {}
    starts: dict[str, int] = {}
    meta: dict[str, str] = {}
    try:
        cursor = _Cursor(text.decode())
        for name in iter(cursor.keys()):
            if name != "__metadata__":
                tensors[name], starts[name] = _tensor(name, cursor.entry())
                continue
            for key in iter(cursor.keys()):
                cursor.take('"')
                meta[key] = cursor.string()
        if cursor.text[cursor.at :].strip():
            raise ValueError("there is text after its end")
    except (ValueError, RecursionError) as error:
        detail = "it is not UTF-8 text" if isinstance(error, UnicodeError) else str(error)
        raise damaged(path, f"has a damaged header: {detail}") from error
    return tensors, meta, starts


def _tensor(name: str, entry: Mapping[str, Any]) -> tuple[TensorInfo, int]:
    """One checked entry and where its bytes start; ValueError says what is wrong with it."""
    dtype, shape, span = entry.get("dtype"), _sizes(entry.get("shape")), _sizes(entry.get("data_offsets"))
    if not isinstance(dtype, str) or dtype not in BITS:
        raise ValueError(f"tensor {quote(name)} is of the unknown type {quote(str(dtype))}")
    if shape is None or span is None or len(span) != 2 or len(shape) > MAX_DIMS:
        raise ValueError(f"tensor {quote(name)} has no sound shape and byte range")
    # NumPy refuses such shapes even where another size is 0.
    if math.prod(size for size in shape if size) * BITS[dtype] >= 2**63:
        raise ValueError(f"tensor {quote(name)} has the impossible shape {quote(str(shape))}")
    start, end = span
    bits = math.prod(shape) * BITS[dtype]
    if bits != (end - start) * 8:
        sizes = f"{quote(name)} of shape {shape} and type {dtype} needs {-(-bits // 8):,} bytes"
        raise ValueError(f"tensor {sizes}, but its byte range {start} to {end} has {end - start:,}")
    return TensorInfo(name=name, dtype=dtype, shape=shape, nbytes=end - start), start


def _sizes(value: object) -> tuple[int, ...] | None:
    sound = isinstance(value, list) and all(type(size) is int and 0 <= size < 2**63 for size in value)
    return tuple(value) if isinstance(value, list) and sound else None


def _check_order(tensors: Mapping[str, TensorInfo], starts: Mapping[str, int], path: Path) -> None:
    """Tensors must follow each other without overlap or hole."""
    expected, previous = 0, "the header"
    for start, end, name in sorted((at, at + tensors[name].nbytes, name) for name, at in starts.items()):
        if start != expected:
            what = "overlaps" if start < expected else f"leaves a hole of {start - expected:,} bytes after"
            raise damaged(path, f"has a damaged header: tensor {quote(name)} {what} {previous}")
        expected, previous = end, quote(name)
