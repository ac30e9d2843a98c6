"""What a checkpoint holds, from headers alone: its family and sizes, which tensor is which array, what is missing."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Literal

from attn_cli.checkpoint import Checkpoint
from attn_cli.checkpoint._folder import open_source
from attn_cli.errors import AttnError, quote
from attn_cli.families import read_config
from attn_cli.families._gguf import CONSUMED
from attn_cli.model.gguf import Renamed, translate
from attn_cli.model.weights import Bound, Match, match, refusal
from attn_cli.spec import ModelSpec

Part = Literal["embedding", "attention", "mlp", "norms", "head", "other", "unused"]
PARTS: tuple[Part, ...] = ("embedding", "attention", "mlp", "norms", "head", "other", "unused")
_INDEX = re.compile(r"(?<=\.)(?:0|[1-9]\d*)(?=\.|$)")


@dataclass(frozen=True, kw_only=True)
class Inside:
    """An open checkpoint as far as its headers tell; without a spec where its config is none of ours."""

    source: str
    path: Path
    checkpoint: Checkpoint
    notes: tuple[str, ...] = ()
    model_type: str | None = None
    spec: ModelSpec | None = None
    found: Match | None = None
    renamed: Renamed | None = None  # of a GGUF file: its tensors under the family's names
    error: AttnError | None = None  # why the model cannot be computed

    @property
    def nbytes(self) -> int:
        """Bytes of all tensors."""
        return sum(info.nbytes for info in self.checkpoint.tensors.values())

    @property
    def parameters(self) -> int:
        """Numbers in all tensors."""
        return sum(math.prod(info.shape) for info in self.checkpoint.tensors.values())

    def in_file(self, tensor: str) -> str:
        """What the file itself calls a tensor that is known by the family's name."""
        renamed = self.renamed
        return renamed.original(tensor) if renamed is not None and tensor in renamed.tensors else tensor


@dataclass(frozen=True, kw_only=True)
class Array:
    """One array as the model uses it, or a tensor of the file that it does not."""

    name: str | None  # ours; None for a tensor that is not used
    tensors: tuple[str, ...]
    dtype: str
    shape: tuple[int, ...]  # (out, in) for matrices
    layout: str  # how the file has it: out_in, in_out, vector, rows; with the part of a fused tensor
    part: Part
    parameters: int  # 0, as the bytes, where the tensor was counted with an array before: tied, or shared by layers
    nbytes: int


def look(path: Path, source: str, ignore_keys: tuple[str, ...] = ()) -> Inside:
    """Opens what lies at a path and reads its headers; CheckpointError where not even those can be read."""
    opened = open_source(path)
    found = Inside(source=source, path=path, checkpoint=opened.weights, notes=opened.notes)
    config, weights, changes = opened.config, opened.weights, {}
    try:
        if opened.weights.format == "gguf":
            translated = translate(opened.weights)  # type: ignore[arg-type]
            config, weights, changes = translated.config, translated.weights, dict(translated.changes)
            found = replace(found, renamed=weights)  # type: ignore[arg-type]
        if config is None:
            return found
        model_type = config.get("model_type")
        found = replace(found, model_type=model_type if isinstance(model_type, str) else None)
        where = quote(str(opened.config_path if weights is opened.weights else weights.path))
        family, spec = read_config(config, where=where, ignore=ignore_keys)
        spec = replace(spec, **changes)
        matched = match(spec, family, weights)
        found = replace(found, spec=spec, found=matched)
        if matched.missing or matched.misshapen or matched.unexpected:
            return replace(found, error=refusal(weights, matched))
    except AttnError as refused:
        return replace(found, error=refused)
    return found


def arrays(inside: Inside) -> list[Array]:
    """Every array that is bound, in the family's order, and then the tensors that nothing uses."""
    known, counted = [], set()
    for name, bound in (inside.found.bound if inside.found else {}).items():
        key = (bound.tensor, bound.cut, bound.groups)
        known.append(_array(inside, name, bound, counts=key not in counted))
        counted.add(key)
    used = {tensor for array in known for tensor in array.tensors}
    for name, info in inside.checkpoint.tensors.items():
        if name in used:
            continue
        factors = inside.renamed is not None and name in CONSUMED  # they went into the config
        known.append(
            Array(
                name="rope.factors" if factors else None,
                tensors=(name,),
                dtype=info.dtype,
                shape=info.shape,
                layout="vector" if factors else "",
                part="other" if factors else "unused",
                parameters=math.prod(info.shape),
                nbytes=info.nbytes,
            )
        )
    return known


def _array(inside: Inside, name: str, bound: Bound, *, counts: bool) -> Array:
    """One bound array: its shape as the model uses it, and how the file has it."""
    renamed = inside.renamed
    tensors = inside.checkpoint.tensors if renamed is None else renamed.tensors
    info = tensors[bound.tensor]
    shape, layout = info.shape, bound.layout
    if layout == "in_out":
        shape = (*shape[:-2], shape[-1], shape[-2])
    turn = "" if renamed is None else renamed.turn(bound.tensor)
    if turn == "transposed":
        layout = {"in_out": "out_in", "out_in": "in_out"}.get(layout, layout)
    elif turn:
        layout += f", {turn}"
    share = 1.0
    if bound.cut is not None:
        axis = len(shape) - (1 if bound.layout == "vector" else 2)
        whole, size = shape[axis], bound.groups * (bound.cut[1] - bound.cut[0])
        share = size / whole if whole else 0.0
        shape = (*shape[:axis], size, *shape[axis + 1 :])
        per = whole // bound.groups
        layout += f", {bound.cut[0]}-{bound.cut[1] - 1} of {per}" + (" per group" if bound.groups > 1 else "")
    if bound.stack:
        shape = (len(bound.stack), *shape)
    nbytes = sum(tensors[t].nbytes for t in bound.tensors)
    return Array(
        name=name,
        tensors=tuple(dict.fromkeys(inside.in_file(t) for t in bound.tensors)),
        dtype=info.dtype,
        shape=shape,
        layout=layout,
        part=part_of(name),
        parameters=math.prod(shape) if counts else 0,
        nbytes=round(nbytes * share) if counts else 0,
    )


def part_of(name: str) -> Part:
    """The part of a model that one of our arrays belongs to."""
    name = name.removeprefix("decoder.")
    if "norm" in name:
        return "norms"
    if name.startswith("embed."):
        return "embedding"
    if name.startswith("head."):
        return "head"
    if ".attn." in name or ".cross." in name or name.startswith(("relative", "distance")):
        return "attention"
    return "mlp" if ".mlp." in name or ".experts." in name else "other"


def fold(names: Sequence[str]) -> list[tuple[str, list[int]]]:
    """Names that differ only in their numbers as one, `layers.[0-29].attn.q`, with the indices of the names in it.

    Only names that are all there: every combination of their numbers.
    """
    groups: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        groups.setdefault(_INDEX.sub("[]", name), []).append(i)
    folded: list[tuple[str, list[int]]] = []
    for template, members in groups.items():
        columns = list(zip(*(_INDEX.findall(names[i]) for i in members), strict=True))
        values = [sorted(set(column), key=int) for column in columns]
        whole = len(members) == len(set(product(*values))) if math.prod(map(len, values)) == len(members) else False
        if len(members) == 1 or not whole:
            folded += [(names[i], [i]) for i in members]
            continue
        parts = template.split("[]")
        spelled = "".join(part + _spell(v) for part, v in zip(parts, [*values, []], strict=True))
        folded.append((spelled, members))
    return folded


def _spell(values: Iterable[str]) -> str:
    """Numbers as ranges in brackets, one alone as it is: [0-3,5]."""
    numbers = [int(v) for v in values]
    if len(numbers) < 2:
        return "".join(map(str, numbers))
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][-1] + 1:
            ranges[-1] = [ranges[-1][0], number]
        else:
            ranges.append([number])
    return "[" + ",".join("-".join(map(str, r)) for r in ranges) + "]"
