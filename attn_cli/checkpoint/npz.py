"""NumPy's .npz (a zip of .npy files, stored or deflated) and .npy, without numpy.load: nothing is unpickled.

Written after numpy.lib.format's description of versions 1.0 to 3.0 and PKWARE's APPNOTE. Sizes are bounded
before memory is taken: a stored array's by the file's size, a deflated one's by what deflate can give.
"""

from __future__ import annotations

import json
import math
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np

from attn_cli.checkpoint import Checkpoint, TensorInfo
from attn_cli.checkpoint._folder import HEAD, damaged, foreign, opened
from attn_cli.checkpoint.safetensors import MAX_DIMS, deliver, row_index
from attn_cli.errors import CheckpointError, quote

if TYPE_CHECKING:
    from zipfile import ZipInfo

    from numpy.typing import DTypeLike

    from attn_cli.checkpoint.safetensors import Rows

MAGIC = b"\x93NUMPY"
META = "__metadata__"
NAMES = {"f2": "float16", "f4": "float32", "f8": "float64", "b1": "bool"}
NAMES |= {f"{kind}{size}": f"{'u' * (kind == 'u')}int{8 * size}" for kind in "iu" for size in (1, 2, 4, 8)}
DEFLATE_RATIO = 1032
TOTAL_BYTES, TOTAL_RATIO = 2**30, 64  # all arrays together: 1 GiB or 64 times the file, whichever is more
DIRECTORY_LIMIT = 4 * 2**20  # bytes of a zip's list of members; honest ones need about 100 a member
HEADER_LIMIT = 10_000  # characters of a .npy header, as in NumPy
TEXT_LIMIT, TEXT_COUNT = 16 * 2**20, 10**6  # bytes and elements of an array of strings
_CHUNK = 2**18
_OBJECTS = re.compile(r"""['"]descr['"]\s*:\s*(\[|['"][<>=|]?O)""")  # records, or what is kept as a pickle
_ITEM = re.compile(
    r"""\s*(['"])(?P<key>descr|fortran_order|shape)\1\s*:\s*
    (?: (['"]) (?P<descr> [<>=|]? [a-zA-Z] [1-9]\d{0,7} ) (?: \[\w{1,9}\] )? \3
      | (?P<order> True|False ) | \( (?P<shape> [\d\s,L]* ) \) )\s*""",
    re.VERBOSE | re.ASCII,
)


@dataclass(frozen=True)
class _Member:
    """Where an array lies in the file and how; its own header, of `header` bytes, comes first."""

    name: str
    start: int
    packed: int
    size: int
    crc: int | None = None
    deflated: bool = False
    header: int = 0
    descr: str = ""
    fortran: bool = False


def sniff(head: bytes, path: Path) -> bool:
    """Whether a file begins with an array, bare or zipped; another zip only if it is named .npz."""
    if head.startswith(b"PK\x03\x04"):
        length = int.from_bytes(head[26:28], "little")
        return head[30 : 30 + length].endswith(b".npy") or path.suffix == ".npz"
    return head.startswith(MAGIC) or path.suffix in (".npz", ".npy")


def open(path: Path) -> Checkpoint:
    """The arrays of a .npz, or the one of a .npy as `arr_0`; all their headers are read and checked here."""
    return _Arrays(path)


def save(path: Path, arrays: Mapping[str, np.ndarray], meta: Mapping[str, str]) -> None:
    """Writes a stored .npz, one array after another; equal arrays give equal bytes. `meta` becomes one more, of JSON."""
    from zipfile import ZipFile, ZipInfo

    about = {META: np.array(json.dumps(dict(meta), sort_keys=True))} if meta else {}
    with ZipFile(path, "w") as archive:
        for name in sorted({*arrays, *about}):
            array = about[name] if name in about else arrays[name]
            if name in arrays and (name == META or not (array.dtype.str[1:] in NAMES or array.dtype.kind in "US")):
                path.unlink()
                what = f"array {quote(name)} of type {array.dtype}"
                raise CheckpointError(f"an .npz file cannot hold {what}", "convert or rename it")
            member = ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            member.create_system, member.external_attr = 3, 0o600 << 16  # else the system's own would show
            with archive.open(member, "w", force_zip64=True) as file:
                plain = np.asarray(array, array.dtype.newbyteorder("<"), order="C")
                np.lib.format.write_array(file, plain, version=(1, 0), allow_pickle=False)


class _Stream:
    """The bytes of one member from its beginning, inflated as they are asked for and never further."""

    def __init__(self, file: BinaryIO, member: _Member) -> None:
        self._file = file
        self._left = member.packed
        self._inflate = zlib.decompressobj(-15) if member.deflated else None
        file.seek(member.start)

    def exactly(self, count: int) -> bytearray:
        """The next `count` bytes, or EOFError."""
        data = bytearray(count)
        at = 0
        while at < count and (part := self._some(min(count - at, _CHUNK))):
            data[at : at + len(part)] = part
            at += len(part)
        if at < count:
            raise EOFError
        return data

    def _some(self, count: int) -> bytes:
        """Up to `count` bytes; none at the end."""
        if self._inflate is None:
            return self._packed(count)
        data = b""
        inflate = self._inflate
        while not data and not inflate.eof and (packed := inflate.unconsumed_tail or self._packed()):
            data = inflate.decompress(packed, count)
        return data

    def _packed(self, count: int = _CHUNK) -> bytes:
        data = self._file.read(min(count, self._left))
        self._left -= len(data)
        return data


class _Arrays(Checkpoint):
    """The arrays of one .npz or .npy file, which is opened anew for each read."""

    format = "npz"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._members: dict[str, _Member] = {}
        tensors: dict[str, TensorInfo] = {}
        with opened(path) as file:
            size = os.fstat(file.fileno()).st_size
            for member in _members(file, path, size):
                if member.name in tensors:
                    raise damaged(path, f"holds array {quote(member.name)} twice")
                tensors[member.name], self._members[member.name] = _header(file, member, path)
        if not tensors:
            raise damaged(path, "holds no arrays")
        declared = sum(info.nbytes for info in tensors.values())
        if declared > max(TOTAL_BYTES, TOTAL_RATIO * size):
            raise damaged(path, f"has {size:,} bytes but declares arrays of {declared:,} bytes")
        self.tensors, self.meta = tensors, {}
        if META in tensors and tensors[META].dtype[0] == "U" and tensors[META].shape == ():
            self.meta = self._read_meta()
            del tensors[META]

    def read(self, name: str, *, rows: Rows = None, dtype: DTypeLike = "float32") -> np.ndarray:
        info, member = self.tensors[name], self._members[name]
        text = info.dtype[0] in "US"
        too_long = text and (info.nbytes > TEXT_LIMIT or math.prod(info.shape) > TEXT_COUNT)
        if too_long or not (text or info.dtype in NAMES.values()):
            what = f"holds array {quote(name)} of type {info.dtype} and {info.nbytes:,} bytes"
            raise damaged(self.path, f"{what}, which cannot be read", "save numbers as float32, short texts")
        index = ... if rows is None else row_index(info, rows)
        try:
            array = self._whole(info, member)[index]
            return _text(array) if text else deliver(array, dtype)
        except (EOFError, zlib.error, ValueError, MemoryError) as error:
            what = f"holds array {quote(name)}, whose bytes are damaged, cut short or too many for the memory"
            raise damaged(self.path, what) from error

    def _whole(self, info: TensorInfo, member: _Member) -> np.ndarray:
        with opened(self.path) as file:
            stream = _Stream(file, member)
            header = stream.exactly(member.header)
            data = stream.exactly(info.nbytes)
        if member.crc is not None and zlib.crc32(data, zlib.crc32(header)) != member.crc:
            raise ValueError("checksum")
        array = np.frombuffer(data, np.uint8).view(member.descr)
        return array.reshape(info.shape, order="F" if member.fortran else "C")

    def _read_meta(self) -> dict[str, str]:
        try:
            meta = json.loads(self.read(META).item())
            "".join([*meta, *meta.values()]).encode()  # fails unless all are texts, none half a character
            return dict(meta)
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise damaged(self.path, f"holds {META}, which is not JSON of names and texts") from error


def _members(file: BinaryIO, path: Path, size: int) -> Iterator[_Member]:
    """Every .npy in the file, its place and sizes tested against the file's own size."""
    head = file.read(HEAD)
    if head.startswith(MAGIC):
        yield _Member("arr_0", 0, size, size)
        return
    if not head.startswith(b"PK"):
        raise foreign(head, path) or damaged(path, "is no zip archive, as a .npz must be")
    for entry in directory(file, path):
        if not entry.filename.endswith(".npy"):
            continue
        name = entry.filename.removesuffix(".npy")
        if entry.flag_bits & 1 or entry.compress_type not in (0, 8):
            raise damaged(path, f"holds array {quote(name)} encrypted, or packed in another way than deflate")
        offset, packed, full = entry.header_offset, entry.compress_size, entry.file_size
        file.seek(min(max(offset, 0), size))
        local = file.read(30)
        # The local header's name and extra field may differ in length from those in the directory.
        start = offset + 30 + int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little")
        possible = full == packed or (entry.compress_type == 8 and full <= DEFLATE_RATIO * (packed + 1))
        if not local.startswith(b"PK\x03\x04") or start + packed > size or not possible:
            raise damaged(path, f"holds array {quote(name)}, whose place or sizes cannot be true")
        yield _Member(name, start, packed, full, entry.CRC, entry.compress_type == 8)


def directory(file: BinaryIO, path: Path) -> list[ZipInfo]:
    """The zip's own list of its members."""
    import struct
    import zipfile

    try:
        with zipfile.ZipFile(cast("BinaryIO", _Bounded(file))) as archive:
            return archive.infolist()
    except (zipfile.BadZipFile, struct.error, ValueError, OverflowError, NotImplementedError) as error:
        raise damaged(path, "is cut short or damaged: the list of its arrays cannot be read") from error


class _Bounded:
    """What zipfile needs of a file: it reads the list of members at once, however long that is said to be."""

    def __init__(self, file: BinaryIO) -> None:
        self.seek, self.tell, self._file = file.seek, file.tell, file
        self._size = os.fstat(file.fileno()).st_size

    def read(self, count: int = DIRECTORY_LIMIT) -> bytes:
        if count > DIRECTORY_LIMIT:
            raise ValueError("too long")
        return self._file.read(min(count, self._size))


def _header(file: BinaryIO, member: _Member, path: Path) -> tuple[TensorInfo, _Member]:
    """What the array's own header declares, which must fit the member's size to the byte."""
    name = quote(member.name)
    try:
        stream = _Stream(file, member)
        begin = stream.exactly(8)
        width = 2 if begin[6] == 1 else 4
        length = int.from_bytes(stream.exactly(width), "little")
        if not begin.startswith(MAGIC) or begin[6] not in (1, 2, 3) or length > HEADER_LIMIT:
            raise ValueError("no header of a known version")
        text = stream.exactly(length).decode("utf-8" if begin[6] == 3 else "latin-1")
        if _OBJECTS.search(text):
            what = f"holds array {name} of Python objects (pickles, which can run any code) or records"
            raise damaged(path, what, "save it as numbers or as text: array.astype(str)")
        descr, fortran, shape = _parse(text)
    except (ValueError, EOFError, zlib.error) as error:
        raise damaged(path, f"holds array {name} with a damaged header") from error
    itemsize = int(descr[2:]) * (4 if descr[1] == "U" else 1)
    nbytes, header = math.prod(shape) * itemsize, 8 + width + length
    too_much = math.prod(n for n in shape if n) * itemsize >= 2**63 or itemsize > TEXT_LIMIT
    if too_much or header + nbytes != member.size:
        sizes = f"{header + nbytes:,} bytes expected, {member.size:,} found"
        what = f"of shape {quote(str(shape))}, which is impossible, truncated or too long"
        raise damaged(path, f"holds array {name} {what}: {sizes}")
    dtype = NAMES.get(descr[1:], descr[1:])
    info = TensorInfo(name=member.name, dtype=dtype, shape=shape, nbytes=nbytes)
    return info, replace(member, header=header, descr=descr, fortran=fortran)


def _parse(text: str) -> tuple[str, bool, tuple[int, ...]]:
    """The three items of a header, which is the text of a Python dict; matched, not evaluated."""
    found: dict[str, str] = {}
    text = text.strip()
    at = 1
    while match := _ITEM.match(text, at):
        found[match["key"]] = match["descr"] or match["order"] or match["shape"]
        at = match.end() + (text[match.end() : match.end() + 1] == ",")
    if text[:1] != "{" or text[at:].strip() != "}" or len(found) != 3:
        raise ValueError("no header")
    shape = tuple(int(size.strip().rstrip("L")) for size in found["shape"].split(",") if size.strip())
    descr = found["descr"] if found["descr"][:1] in "<>=|" else f"={found['descr']}"
    if len(shape) > MAX_DIMS or max(shape, default=0) >= 2**63 or not descr[2:].isdigit():
        raise ValueError("no possible shape and type")
    return descr, found["fortran_order"] == "True", shape


def _text(array: np.ndarray) -> np.ndarray:
    """An array of str, which NumPy itself does not test to be text before it is used."""
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8", "replace")
    array = array.astype(array.dtype.newbyteorder("="))
    codes = np.ascontiguousarray(array).reshape(-1).view(np.uint32)
    if codes.size and codes.max() > 0x10FFFF:
        raise ValueError("no character")
    array.setflags(write=False)
    return array
