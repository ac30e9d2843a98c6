"""A pickle of tensors, read by its opcodes: nothing of it is imported, called or run.

Only what torch.save writes for a dict of tensors is understood (Python's pickletools documents the opcodes): plain
values, lists, dicts, and a closed list of names, each of which becomes a value of ours. Anything else is refused.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from attn_cli.errors import quote

MAX_STEPS = 2_000_000  # opcodes; a tensor needs about forty, and each may cost a hundred bytes of memory
_STORAGES = {
    "DoubleStorage": "F64", "FloatStorage": "F32", "HalfStorage": "F16", "BFloat16Storage": "BF16", "LongStorage": "I64",
    "IntStorage": "I32", "ShortStorage": "I16", "CharStorage": "I8", "ByteStorage": "U8", "BoolStorage": "BOOL",
}  # fmt: skip
_DTYPES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32",
    "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL",
}  # fmt: skip
_REBUILD = ("torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_tensor_v3", "torch._utils _rebuild_tensor")
_PARAMETER = "torch._utils _rebuild_parameter"
_ALLOWED = {
    "collections OrderedDict", "torch Size", "torch device", "torch.storage UntypedStorage", _PARAMETER, *_REBUILD,
    *(f"torch {name}" for name in (*_STORAGES, *_DTYPES)),
}  # fmt: skip


class Refused(Exception):
    """The pickle asks for something that a dict of tensors does not need; the message says what."""


@dataclass(frozen=True)
class Name:
    """One of the allowed names: "module name"."""

    name: str


@dataclass(frozen=True)
class Storage:
    """Numbers of one type, somewhere else in the file."""

    key: str
    dtype: str


@dataclass(frozen=True)
class Tensor:
    """A view of a storage; offset and strides are counted in elements."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _Mark:
    """Where a list of values on the stack begins."""


_MARK = _Mark()
_DEVICE = object()


def unpickle(data: bytes | memoryview, at: int = 0, storages: dict[str, Storage] | None = None) -> tuple[Any, int]:
    """The value of the pickle that begins at byte `at`, and where it ends; `storages` collects those it names.

    Refused if it wants what is not allowed, ValueError if it is damaged.
    """
    machine = _Machine(memoryview(data), at, {} if storages is None else storages)
    try:
        return machine.run(), machine.at
    except (IndexError, KeyError, struct.error, TypeError, UnicodeDecodeError, OverflowError) as error:
        raise ValueError(f"the pickle is damaged at byte {machine.at:,}") from error


class _Machine:
    """The stack, the memo, and one small method for each opcode."""

    def __init__(self, data: memoryview, at: int, storages: dict[str, Storage]) -> None:
        self.data, self.at, self.storages = data, at, storages
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self) -> Any:
        for _ in range(MAX_STEPS):
            code = self.data[self.at]
            self.at += 1
            if code == ord("."):
                if len(self.stack) != 1:
                    raise ValueError("the pickle ends with several values, or none")
                return self.stack.pop()
            step = _STEPS.get(code)
            if step is None:
                raise Refused(f"a pickle with opcode {code:#04x}, which no dict of tensors needs; it was not run")
            step(self)
        raise ValueError(f"the pickle takes more than {MAX_STEPS:,} steps")

    def bytes(self, count: int) -> memoryview:
        start, self.at = self.at, self.at + count
        if self.at > len(self.data):
            raise IndexError
        return self.data[start : self.at]

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.bytes(struct.calcsize(form)))[0]

    def text(self, form: str) -> str:
        return str(self.bytes(self.number(form)), "utf-8")

    def line(self) -> str:
        """Text up to a newline, at most 200 bytes of it."""
        head = bytes(self.data[self.at : self.at + 200])
        line = head[: head.index(b"\n")] if b"\n" in head else None
        if line is None:
            raise IndexError
        self.at += len(line) + 1
        return line.decode()

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def since_mark(self) -> list[Any]:
        """Takes all values above the last mark, and the mark."""
        place = next((i for i in range(len(self.stack) - 1, -1, -1) if self.stack[i] is _MARK), None)
        if place is None:
            raise IndexError
        values = self.stack[place + 1 :]
        del self.stack[place:]
        return values

    def last(self, count: int) -> tuple[Any, ...]:
        if count > len(self.stack):
            raise IndexError
        values = tuple(self.stack[len(self.stack) - count :])
        del self.stack[len(self.stack) - count :]
        return values

    def name(self, module: Any, name: Any) -> None:
        full = f"{module} {name}"
        if full not in _ALLOWED:
            wanted = quote(f"{module}.{name}")
            raise Refused(f"a pickle that wants {wanted}, which no dict of tensors needs; it was not run")
        self.push(Name(full))

    def stacked_name(self) -> None:
        module, name = self.last(2)
        self.name(module, name)

    def set_items(self, values: list[Any] | tuple[Any, ...]) -> None:
        target = self.stack[-1]
        if not isinstance(target, dict) or len(values) % 2:
            raise TypeError
        for key, value in zip(values[::2], values[1::2], strict=True):
            if type(key) not in (str, int, float, bool):  # the hash of others may take for ever
                raise TypeError
            target[key] = value

    def append(self, values: list[Any] | tuple[Any, ...]) -> None:
        if not isinstance(self.stack[-1], list):
            raise TypeError
        self.stack[-1].extend(values)

    def put(self, key: int) -> None:
        self.memo[key] = self.stack[-1]

    def persistent(self) -> None:
        """A storage: ('storage', its class, its key, where it was, how many numbers), and more in old files."""
        (given,) = self.last(1)
        word, kind, key = given[:3]
        if word != "storage" or not isinstance(kind, Name) or type(key) is not str or any(given[5:]):
            raise TypeError
        dtype = "" if kind.name.endswith("UntypedStorage") else _STORAGES[kind.name.removeprefix("torch ")]
        storage = Storage(key, dtype or "U8")
        known = self.storages.setdefault(key, storage)
        if known != storage:
            raise ValueError(f"storage {quote(key)} is of two types")
        self.push(storage)

    def build(self) -> None:
        """The state of an object; of a dict it only says which version of each module wrote it."""
        self.last(1)
        if not isinstance(self.stack[-1], dict):
            raise TypeError

    def call(self) -> None:
        called, given = self.last(2)
        if not isinstance(called, Name) or not isinstance(given, tuple):
            raise TypeError
        name = called.name
        if name in _REBUILD:
            self.push(_tensor(*given[:4], dtype=given[6] if name.endswith("v3") else None))
        elif name == _PARAMETER and isinstance(given[0], Tensor):
            self.push(given[0])
        elif name == "collections OrderedDict" and not given:
            self.push({})
        elif name == "torch Size" and len(given) == 1 and isinstance(given[0], tuple | list):
            self.push(tuple(given[0]))
        elif name == "torch device":
            self.push(_DEVICE)
        else:
            raise TypeError


def _tensor(storage: Any, offset: Any, shape: Any, strides: Any, *, dtype: Any) -> Tensor:
    for sizes in (shape, strides, (offset,)):
        if not isinstance(sizes, tuple) or any(type(n) is not int or not 0 <= n < 2**62 for n in sizes):
            raise TypeError
    if not isinstance(storage, Storage) or len(shape) != len(strides):
        raise TypeError
    if dtype is not None:
        storage = Storage(storage.key, _DTYPES[dtype.name.removeprefix("torch ")])
    return Tensor(storage, offset, shape, strides)


def _long(machine: _Machine) -> None:
    machine.push(int.from_bytes(machine.bytes(machine.number("<B")), "little", signed=True))


_STEPS: dict[int, Callable[[_Machine], None]] = {
    0x80: lambda m: m.number("<B") and None,  # protocol
    0x95: lambda m: m.number("<Q") and None,  # frame
    ord("("): lambda m: m.push(_MARK),
    ord("N"): lambda m: m.push(None),
    0x88: lambda m: m.push(True),
    0x89: lambda m: m.push(False),
    ord("J"): lambda m: m.push(m.number("<i")),
    ord("K"): lambda m: m.push(m.number("<B")),
    ord("M"): lambda m: m.push(m.number("<H")),
    0x8A: _long,
    ord("G"): lambda m: m.push(m.number(">d")),
    ord("X"): lambda m: m.push(m.text("<I")),
    0x8C: lambda m: m.push(m.text("<B")),
    0x8D: lambda m: m.push(m.text("<Q")),
    ord("T"): lambda m: m.push(m.text("<I")),  # texts of Python 2
    ord("U"): lambda m: m.push(m.text("<B")),
    ord("]"): lambda m: m.push([]),
    ord("}"): lambda m: m.push({}),
    ord(")"): lambda m: m.push(()),
    ord("t"): lambda m: m.push(tuple(m.since_mark())),
    0x85: lambda m: m.push(m.last(1)),
    0x86: lambda m: m.push(m.last(2)),
    0x87: lambda m: m.push(m.last(3)),
    ord("a"): lambda m: m.append(m.last(1)),
    ord("e"): lambda m: m.append(m.since_mark()),
    ord("s"): lambda m: m.set_items(m.last(2)),
    ord("u"): lambda m: m.set_items(m.since_mark()),
    ord("q"): lambda m: m.put(m.number("<B")),
    ord("r"): lambda m: m.put(m.number("<I")),
    0x94: lambda m: m.put(len(m.memo)),
    ord("h"): lambda m: m.push(m.memo[m.number("<B")]),
    ord("j"): lambda m: m.push(m.memo[m.number("<I")]),
    ord("c"): lambda m: m.name(m.line(), m.line()),
    0x93: lambda m: m.stacked_name(),
    ord("Q"): lambda m: m.persistent(),
    ord("R"): lambda m: m.call(),
    ord("b"): lambda m: m.build(),
}
