"""A GGUF file as a checkpoint that our families can read: its metadata becomes a config, its tensors get the family's names.

Tensors that a converter turned are turned back as they are read, so that queries and keys equal the original model's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attn_cli.checkpoint import Checkpoint, TensorInfo
from attn_cli.errors import CheckpointError, UnsupportedError, quote
from attn_cli.families._gguf import ARCHITECTURES, CONSUMED
from attn_cli.families._gguf_parts import Architecture, Turn
from attn_cli.model._gguf_config import MAX_EXPERTS, read_config

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from attn_cli.checkpoint.gguf import Gguf

_BLOCK = re.compile(r"blk\.(\d{1,5})\.(.+)")


@dataclass(frozen=True, kw_only=True)
class Translated:
    """What a family needs to read a GGUF file."""

    config: Mapping[str, Any]
    weights: Checkpoint
    changes: Mapping[str, Any]  # fields of the ModelSpec that files of this architecture have otherwise


@dataclass(frozen=True)
class _Place:
    """Where one of the family's tensors stands in the file."""

    name: str
    turn: Turn = ""
    heads: int = 1  # whose rows were moved, each among its own
    each: int = 1  # queries that share a key, where queries, keys and values are one matrix
    expert: int | None = None


def translate(source: Gguf) -> Translated:
    """Config and renamed tensors of an open GGUF file; headers only, but for a few rotary factors."""
    name, found = _architecture(source)
    config = read_config(source, name, found)
    changes = {"norm_offset": 0.0} if found.norms_plus_one else {}
    return Translated(config=config, weights=Renamed(source, found, config), changes=changes)


class Renamed(Checkpoint):
    """A GGUF file's tensors under the family's names, turned back where a converter had turned them."""

    def __init__(self, source: Gguf, found: Architecture, config: Mapping[str, Any]) -> None:
        self.path, self.format, self.meta = source.path, source.format, source.meta
        self.source = source
        heads = _heads(found, config)
        self._places: dict[str, _Place] = {}
        tensors: dict[str, TensorInfo] = {}
        for name, info in source.tensors.items():
            if name in CONSUMED:
                continue
            for ours, place in _named(name, info, found, heads, source):
                shape = info.shape[1:] if place.expert is not None else info.shape
                shape = shape[::-1] if place.turn == "transposed" else shape
                nbytes = info.nbytes // info.shape[0] if place.expert is not None else info.nbytes
                tensors[ours] = TensorInfo(name=ours, dtype=info.dtype, shape=shape, nbytes=nbytes)
                self._places[ours] = place
        self.tensors = tensors

    def original(self, name: str) -> str:
        """What a tensor is called in the file."""
        return self._places[name].name

    def turn(self, name: str) -> Turn:
        """What is undone of what a converter did to a tensor."""
        return self._places[name].turn

    def read(self, name: str, *, rows: Sequence[int] | None = None, dtype: DTypeLike = "float32") -> np.ndarray:
        place = self._places[name]
        if place.expert is not None:
            array: np.ndarray = self.source.read(place.name, rows=[place.expert], dtype=dtype)[0]
        elif not place.turn:
            return self.source.read(place.name, rows=rows, dtype=dtype)
        else:
            array = _turned(self.source.read(place.name, dtype=dtype), place)
        array = array if rows is None else array[list(rows)]
        array.setflags(write=False)
        return array

    def close(self) -> None:
        self.source.close()


def _architecture(source: Gguf) -> tuple[str, Architecture]:
    """The name a file gives its architecture, and what we know of it."""
    name = source.fields.get("general.architecture")
    if not isinstance(name, str) or not name:
        raise CheckpointError(
            f"{quote(str(source.path))} does not name its architecture",
            "it may be an adapter, a vocabulary or a projector; name the file of the whole model",
        )
    experts = source.fields.get(f"{name}.expert_count")
    key = "llama, experts" if name == "llama" and isinstance(experts, int) and experts > 0 else name
    if key not in ARCHITECTURES:
        known = sorted(n for n in ARCHITECTURES if " " not in n)
        raise UnsupportedError(
            f"{quote(str(source.path))}: architecture {quote(name)} is not supported",
            f"supported in GGUF: {', '.join(known)}",
        )
    return name, ARCHITECTURES[key]


def _heads(found: Architecture, config: Mapping[str, Any]) -> dict[str, int]:
    """How many heads of queries and of keys there are, for tensors whose rows must be turned back."""
    queries = config.get("num_attention_heads") or config.get("n_head") or config.get("n_heads")
    keys = config.get("num_key_value_heads") or config.get("num_kv_heads") or queries
    sound = all(type(n) is int and n > 0 for n in (queries, keys))
    if found.turns and not sound:
        return {"queries": 0, "keys": 0}  # the family's own reading of the config says what is wrong
    return {"queries": queries or 1, "keys": keys or 1}


def _named(
    name: str, info: TensorInfo, found: Architecture, heads: Mapping[str, int], source: Gguf
) -> Iterator[tuple[str, _Place]]:
    """The family's names of a tensor: one, or one for each expert; those that no family knows keep their own."""
    stem, _, kind = name.rpartition(".")
    stem = stem if kind in ("weight", "bias") else name
    block = _BLOCK.fullmatch(stem)
    pattern = f"blk.{{i}}.{block[2]}" if block else stem
    if "blk.0.attn_norm_2.weight" in source.tensors and pattern in ("blk.{i}.attn_norm", "blk.{i}.attn_norm_2"):
        theirs: str | None = f"transformer.h.{{i}}.{'ln_attn' if pattern.endswith('2') else 'ln_mlp'}"  # Falcon 40B
    else:
        theirs = found.tensors.get(pattern)
    if theirs is None or stem == name:
        if block:
            raise UnsupportedError(
                f"{quote(str(source.path))}: tensor {quote(name)} is not known in a {found.model_type} model",
                "the model may be of a newer kind than this program",
            )
        yield name, _Place(name)
        return
    theirs = theirs.replace("{i}", str(int(block[1]))) if block else theirs
    if "{n}" in theirs:
        if not info.shape or info.shape[0] > MAX_EXPERTS:
            raise CheckpointError(
                f"{quote(str(source.path))}: tensor {quote(name)} is no stack of experts", "fetch it again"
            )
        for expert in range(info.shape[0]):
            yield f"{theirs.replace('{n}', str(expert))}.{kind}", _Place(name, expert=expert)
        return
    yield f"{theirs}.{kind}", _place(name, info, found.turns.get(pattern, ""), pattern, heads)


def _place(name: str, info: TensorInfo, turn: Turn, pattern: str, heads: Mapping[str, int]) -> _Place:
    """How a tensor is turned back; one whose shape does not allow it is left alone, and refused when it is bound."""
    rows, queries, keys = info.shape[0] if info.shape else 0, heads["queries"], heads["keys"]
    if turn == "transposed" and len(info.shape) == 2:
        return _Place(name, turn)
    if turn == "pairs":
        count = keys if pattern.endswith("attn_k") else queries
        if count and not rows % (2 * count):
            return _Place(name, turn, count)
    if turn == "by_head" and keys and not queries % keys and not rows % (queries + 2 * keys):
        return _Place(name, turn, keys, queries // keys)
    return _Place(name)


def _turned(array: np.ndarray, place: _Place) -> np.ndarray:
    """The array as it was before the converter."""
    if place.turn == "transposed":
        return array.T
    rest = array.shape[1:]
    if place.turn == "pairs":
        return array.reshape(place.heads, -1, 2, *rest).swapaxes(1, 2).reshape(array.shape)
    each = len(array) // (place.each + 2) * place.each
    both = (len(array) - each) // 2
    parts = (array[:each], array[each : each + both], array[each + both :])
    return np.concatenate([part.reshape(place.heads, -1, *rest) for part in parts], axis=1).reshape(array.shape)
