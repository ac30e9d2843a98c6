"""`save`: a readable checkpoint as safetensors or npz, with what belongs beside it; random and bare weights as one file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from attn_cli.checkpoint._folder import opened
from attn_cli.errors import UsageError, quote
from attn_cli.families import read_config
from attn_cli.model.bare import to_arrays

if TYPE_CHECKING:
    import numpy as np

    from attn_cli.checkpoint import Checkpoint
    from attn_cli.model import Model

Format = Literal["safetensors", "npz"]
_CODES = {"float16": "F16", "float32": "F32", "float64": "F64", "bfloat16": "BF16"}
_NAMES = {code: name for name, code in _CODES.items()}
_WHOLE = {f"{kind}{bits}" for kind in ("I", "U", "int", "uint") for bits in (8, 16, 32, 64)} | {"BOOL", "bool"}


@dataclass(frozen=True, kw_only=True)
class Copy:
    """What to write: arrays that are read one by one, their types and shapes, metadata, and the files beside them."""

    arrays: Mapping[str, np.ndarray]
    types: Mapping[str, tuple[str, tuple[int, ...]]]  # in safetensors' spelling
    meta: Mapping[str, str]
    beside: Mapping[str, bytes]


class _Arrays(Mapping[str, "np.ndarray"]):
    """Arrays by name, each made when it is asked for."""

    def __init__(self, make: Mapping[str, Callable[[], np.ndarray]]) -> None:
        self._make = make

    def __getitem__(self, name: str) -> np.ndarray:
        return self._make[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._make)

    def __len__(self) -> int:
        return len(self._make)


def save(model: Model, form: Format, dtype: str | None = None) -> Copy:
    """The copy of a model's weights in a format; floating types become `dtype`.

    Without one they stay as they are stored, except what the format cannot hold, which becomes float32: quantised blocks,
    and bfloat16 in an npz. Whole checkpoints keep their tensors' names (those of a GGUF file are the family's own).
    """
    if dtype == "bfloat16" and form == "npz":
        raise UsageError("--dtype bfloat16: NumPy has no such type", "save to .safetensors, or as float16 or float32")
    if model.bare is not None:
        return _bare(model, dtype)
    checkpoint, less = model.weights.checkpoint, _less(model)
    types: dict[str, tuple[str, tuple[int, ...]]] = {}
    make: dict[str, Callable[[], np.ndarray]] = {}
    for name, info in checkpoint.tensors.items():
        if info.dtype in _WHOLE:
            code = _whole_code(info.dtype)
            make[name] = _reader(checkpoint, name, "float32", None)
        else:
            kept = _CODES.get(info.dtype, info.dtype)
            kept = kept if kept in _NAMES and (kept != "BF16" or form == "safetensors") else "F32"
            code = kept if dtype is None else _CODES[dtype]
            make[name] = _reader(checkpoint, name, "float64" if kept == "F64" else "float32", code, less.get(name, 0.0))
        types[name] = (code, info.shape)
    # Other programs open a safetensors file only if it says whose layout it has.
    return Copy(arrays=_Arrays(make), types=types, meta={"format": "pt"}, beside=_beside(model, dtype))


def _bare(model: Model, dtype: str | None) -> Copy:
    """Random or bare weights: small, so they stand in memory."""
    if model.bare is None:
        raise ValueError("a whole model")
    arrays, meta = to_arrays(model.bare)
    types: dict[str, tuple[str, tuple[int, ...]]] = {}
    for name, array in arrays.items():
        code = _CODES.get(str(array.dtype))
        if code is not None and dtype is not None:
            code, arrays[name] = _CODES[dtype], narrowed(array, dtype, name)
        types[name] = (code or _whole_code(str(array.dtype)), array.shape)
    return Copy(arrays=arrays, types=types, meta=meta, beside={})


def narrowed(array: np.ndarray, dtype: str, name: str) -> np.ndarray:
    """The array in a floating type, rounded to the nearest; bfloat16 as the 16 bits of each number, uint16.

    UsageError where a finite number becomes infinite: such weights would compute nothing.
    """
    import numpy as np

    with np.errstate(over="ignore", invalid="ignore"):
        if dtype != "bfloat16":
            found = array.astype(dtype, copy=False)
            lost = dtype == "float16" and bool((np.isinf(found) & np.isfinite(array)).any())
        else:
            single = np.ascontiguousarray(array, np.float32)
            bits = single.view(np.uint32)
            rounded = (bits.astype(np.uint64) + 0x7FFF + ((bits >> 16) & 1)) >> 16  # half to even
            found = np.where(np.isnan(single), (bits >> 16) | 0x40, rounded).astype(np.uint16)
            lost = bool(((found & 0x7FFF == 0x7F80) & np.isfinite(array)).any())
    if lost:
        raise UsageError(f"--dtype {dtype} cannot hold the numbers of tensor {quote(name)}", "use bfloat16 or float32")
    return found


def _reader(
    checkpoint: Checkpoint, name: str, dtype: str, code: str | None, less: float = 0.0
) -> Callable[[], np.ndarray]:
    """Reads one tensor in `dtype` and turns it into what is written; integers and truth values stay as they are."""

    def read() -> np.ndarray:
        array = checkpoint.read(name, dtype=dtype)
        return array if code is None else narrowed(array - less if less else array, _NAMES[code], name)

    return read


def _less(model: Model) -> Mapping[str, float]:
    """What is taken off a tensor so that the family's own reading of it is the same: norms that a GGUF file has plus one."""
    if model.config is None:
        return {}
    _, spec = read_config(model.config, where="config.json", ignore=model.spec.ignored_keys)
    less = spec.norm_offset - model.spec.norm_offset
    bound = model.weights.bound
    return {b.tensor: less for name, b in bound.items() if name.endswith("norm.weight")} if less else {}


def _whole_code(dtype: str) -> str:
    """A type that is no floating one as safetensors spells it: int64 is I64."""
    name = dtype.replace("uint", "U").replace("int", "I")
    return "BOOL" if name == "bool" else name


def _beside(model: Model, dtype: str | None) -> Mapping[str, bytes]:
    """config.json and the tokenizer's files: those of the source, or a tokenizer.json that is made of its tokenizer."""
    config: dict[str, Any] = dict(model.config or {})
    for key in ("torch_dtype", "dtype"):
        if key in config and dtype is not None:
            config[key] = dtype
    found = {
        "config.json": (json.dumps(config, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
    }
    for name, path in model.tokenizer_files.items():
        with opened(path) as file:
            found[name] = file.read()
    if model.tokenizer is not None and not model.tokenizer_files:
        found["tokenizer.json"] = model.tokenizer.backend.to_str(pretty=True).encode()
    return found
