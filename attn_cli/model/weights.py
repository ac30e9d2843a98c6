"""Names become checked arrays: every tensor a family declares is found, measured and read only when it is needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import ModuleType
from typing import TYPE_CHECKING

from attn_cli.checkpoint import Checkpoint
from attn_cli.errors import CheckpointError, quote
from attn_cli.spec import ModelSpec, Stored

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike


@dataclass(frozen=True, kw_only=True)
class Bound:
    """One of our arrays, found: the file's tensor, and how to cut and turn it."""

    tensor: str
    layout: str
    cut: tuple[int, int] | None  # rows of the (out, in) matrix, for a part of a fused array
    groups: int = 1  # of rows, each of which is cut so
    stack: tuple[str, ...] = ()  # where the array is many tensors, one for each index of its first axis

    @property
    def tensors(self) -> tuple[str, ...]:
        """All tensors of the file that the array is made of."""
        return self.stack or (self.tensor,)


class Weights:
    """The arrays of one model under our names, as (out, in) matrices; read from the file at each call, nothing kept."""

    def __init__(
        self, checkpoint: Checkpoint, bound: Mapping[str, Bound], unused: Sequence[str], dtype: DTypeLike
    ) -> None:
        self.checkpoint = checkpoint
        self.bound = bound
        self.unused = tuple(unused)
        self.dtype = dtype
        self._layers: dict[int, list[str]] = {}
        for name in bound:
            if name.startswith("layers."):
                self._layers.setdefault(int(name.split(".", 2)[1]), []).append(name)

    def __contains__(self, name: str) -> bool:
        return name in self.bound

    def read(self, name: str) -> np.ndarray:
        """The whole array `name`."""
        return self._read(self.bound[name], {})

    def expert(self, layer: int, expert: int) -> dict[str, np.ndarray]:
        """The arrays of one expert of a layer, by the names that a plain MLP's have; only this expert is read."""
        prefix = f"layers.{layer}.experts."
        found = {}
        for name in self._layers.get(layer, ()):
            if name.startswith(prefix):
                bound = self.bound[name]
                if bound.stack:
                    array = self.checkpoint.read(bound.stack[expert], dtype=self.dtype)
                else:
                    array = self.checkpoint.read(bound.tensor, rows=(expert,), dtype=self.dtype)[0]
                found["mlp." + name[len(prefix) :]] = self._cut(bound, array)
        return found

    def rows(self, name: str, rows: Sequence[int]) -> np.ndarray:
        """Only some rows of a table, in the order asked for: (len(rows), width)."""
        return self.checkpoint.read(self.bound[name].tensor, rows=rows, dtype=self.dtype)

    def under(self, prefix: str) -> Weights:
        """The arrays below `prefix.` as weights of their own, read from the same file."""
        below = {n[len(prefix) + 1 :]: b for n, b in self.bound.items() if n.startswith(prefix + ".")}
        return Weights(self.checkpoint, below, self.unused, self.dtype)

    def part(self, prefix: str) -> dict[str, np.ndarray]:
        """All arrays below `prefix.`, by the rest of their names."""
        return {n[len(prefix) + 1 :]: self.read(n) for n in self.bound if n.startswith(prefix + ".")}

    def layer(self, layer: int, only: str = "", *, skip: tuple[str, ...] = ()) -> dict[str, np.ndarray]:
        """The arrays of one layer whose names begin with `only` and none of `skip`; a fused tensor is read once."""
        prefix = f"layers.{layer}."
        whole: dict[str, np.ndarray] = {}
        found = {}
        for name in self._layers.get(layer, ()):
            rest = name[len(prefix) :]
            if rest.startswith(only) and not rest.startswith((*skip, "experts.")):
                found[rest] = self._read(self.bound[name], whole)
        return found

    def _read(self, bound: Bound, whole: dict[str, np.ndarray]) -> np.ndarray:
        """One array; `whole` holds the tensors that were read already, for the other parts of fused ones."""
        if bound.stack:
            import numpy as np

            return np.stack([self._cut(bound, self.checkpoint.read(t, dtype=self.dtype)) for t in bound.stack])
        if bound.tensor not in whole:
            whole[bound.tensor] = self.checkpoint.read(bound.tensor, dtype=self.dtype)
        return self._cut(bound, whole[bound.tensor])

    @staticmethod
    def _cut(bound: Bound, array: np.ndarray) -> np.ndarray:
        if bound.layout == "in_out":
            array = array.T
        if bound.cut is None:
            return array
        if bound.groups == 1:
            return array[bound.cut[0] : bound.cut[1]]
        grouped = array.reshape(bound.groups, -1, *array.shape[1:])[:, bound.cut[0] : bound.cut[1]]
        return grouped.reshape(-1, *array.shape[1:])


@dataclass(frozen=True, kw_only=True)
class Match:
    """What of a family's arrays a file has, and what it has beside them."""

    bound: Mapping[str, Bound]
    missing: Sequence[str]  # tensors by the names that were looked for
    misshapen: Sequence[str]  # sentences
    unexpected: Sequence[str]  # tensors under the layers' or embeddings' prefix that nothing asks for
    unused: Sequence[str]  # all tensors that nothing asks for, but for known buffers


def bind(spec: ModelSpec, family: ModuleType, checkpoint: Checkpoint, dtype: DTypeLike) -> Weights:
    """The weights of `family` in a file, every tensor found and its shape checked; headers only, no data is read.

    CheckpointError lists everything missing, misshapen or unexpected at once, each with the closest name in the file.
    """
    found = match(spec, family, checkpoint)
    if found.missing or found.misshapen or found.unexpected:
        raise refusal(checkpoint, found)
    return Weights(checkpoint, found.bound, found.unused, dtype)


def match(spec: ModelSpec, family: ModuleType, checkpoint: Checkpoint) -> Match:
    """Finds every tensor of `family` in the file and compares its shape with the spec's; headers only."""
    declared: dict[str, Stored] = family.TENSORS
    wanted = {
        name.replace("{i}", str(i)): (stored, part.stored_layer(i), part.sizes())
        for name, stored in declared.items()
        if (part := _stack(spec, name)) is not None and _holds(part, stored.when)
        for i in (range(stored.skip_first, part.n_layers) if "{i}" in name else (0,))
    }
    inside = tuple(i + p for i in spec.inside for p in family.PREFIXES)
    prefix = _prefix((*family.PREFIXES, *inside), [s.names for s in declared.values()], checkpoint)
    bound: dict[str, Bound] = {}
    missing: list[str] = []
    misshapen: list[str] = []
    for name, (stored, i, sizes) in wanted.items():
        nested = [f"/{outer}{n[1:]}" for n in stored.names if n.startswith("/") for outer in spec.inside]
        spellings = [_tensors(n, prefix, i, sizes[stored.shape[0]]) for n in (*stored.names, *nested)]
        tensors = next((s for s in spellings if s[0] in checkpoint.tensors), None)
        if tensors is None:
            if not stored.optional:
                missing.append(spellings[0][0])
            continue
        want, cut, groups = _shape(stored, sizes, stacked="{n}" in stored.names[0])
        lacking = [t for t in tensors if t not in checkpoint.tensors]
        wrong = [t for t in tensors if t not in lacking and checkpoint.tensors[t].shape != want]
        missing += lacking
        misshapen += [f"{quote(t)} has shape {_x(checkpoint.tensors[t].shape)} instead of {_x(want)}" for t in wrong]
        if not lacking and not wrong:
            stack = tensors if "{n}" in stored.names[0] else ()
            bound[name] = Bound(tensor=tensors[0], layout=stored.layout, cut=cut, groups=groups, stack=stack)
    used = {t for b in bound.values() for t in b.tensors}
    ignored = tuple(prefix + p for p in family.IGNORED)
    roots = _roots(declared.values(), prefix)
    rest = [t for t in checkpoint.tensors if t not in used and not any(fnmatchcase(t, p) for p in ignored)]
    unexpected = [t for t in rest if t.startswith(roots)] if not misshapen else []
    return Match(bound=bound, missing=missing, misshapen=misshapen, unexpected=unexpected, unused=rest)


def _stack(spec: ModelSpec, name: str) -> ModelSpec | None:
    """The spec that an array belongs to: the decoder's, or the model's own."""
    return spec.decoder if name.startswith("decoder.") else spec


def _holds(spec: ModelSpec, when: str) -> bool:
    """Whether all conditions of `Stored.when` are true of a spec."""

    def one(condition: str) -> bool:
        name, is_, word = condition.removeprefix("!").partition("=")
        value = getattr(spec, name)
        return (value == word if is_ else bool(value)) != condition.startswith("!")

    return all(one(condition) for condition in when.split())


def _tensors(name: str, prefix: str, layer: int, count: int) -> tuple[str, ...]:
    """The tensors that a spelling stands for: one, or one for each index of the first axis."""
    spelled = _spell(name, prefix, layer)
    return tuple(spelled.replace("{n}", str(n)) for n in range(count)) if "{n}" in name else (spelled,)


def _spell(name: str, prefix: str, layer: int) -> str:
    name = name[1:] if name.startswith("/") else prefix + name
    return name.replace("{i}", str(layer))


def _prefix(prefixes: Sequence[str], names: Iterable[tuple[str, ...]], checkpoint: Checkpoint) -> str:
    """The prefix under which most of the family's first-layer names stand in the file."""
    spellings = [n for group in names for n in group if not n.startswith("/")]
    return max(prefixes, key=lambda p: sum(_spell(n, p, 0) in checkpoint.tensors for n in spellings))


def _shape(
    stored: Stored, sizes: Mapping[str, int], *, stacked: bool
) -> tuple[tuple[int, ...], tuple[int, int] | None, int]:
    """The shape each tensor must have in the file, which rows of it (as out, in) are meant, and of how many groups of rows."""
    many = stacked or stored.shape[0] == "expert"
    first = tuple(sizes[s] for s in stored.shape[:1]) if many and not stacked else ()
    shape = tuple(sizes[s] for s in stored.shape[many:])
    cut, groups = None, 1
    if stored.split:
        groups = sizes[stored.per] if stored.per else 1
        parts = [sizes[s] // groups for s in stored.split]
        start = sum(parts[: stored.part])
        cut = (start, start + parts[stored.part])
        shape = (groups * sum(parts), *shape[1:])
    return (*first, *(shape[::-1] if stored.layout == "in_out" else shape)), cut, groups


def _roots(declared: Iterable[Stored], prefix: str) -> tuple[str, ...]:
    """What the names of layers and embeddings begin with: nothing else may stand below these."""
    roots = set()
    for stored in declared:
        for name in stored.names:
            if not name.startswith("/"):
                roots.add(prefix + (name.split("{i}")[0] if "{i}" in name else name.split(".")[0] + "."))
    return tuple(roots)


def refusal(checkpoint: Checkpoint, found: Match) -> CheckpointError:
    """The error that names all that does not fit."""
    from difflib import get_close_matches

    def some(what: Sequence[str]) -> str:
        return ", ".join(what[:4]) + (f" and {len(what) - 4} more" if len(what) > 4 else "")

    lines = []
    if found.missing:
        near = get_close_matches(found.missing[0], found.unused, 1, 0.6)
        closest = f" (closest in the file: {quote(near[0])})" if near else ""
        lines.append(f"{len(found.missing)} missing: {some(found.missing)}{closest}")
    if found.misshapen:
        lines.append(f"{len(found.misshapen)} misshapen: {some(found.misshapen)}")
    if found.unexpected:
        lines.append(f"{len(found.unexpected)} unexpected: {some([quote(u) for u in found.unexpected])}")
    config = "its own metadata" if checkpoint.format == "gguf" else "config.json"
    return CheckpointError(
        f"{quote(str(checkpoint.path))}: the tensors do not fit {config}: " + "; ".join(lines),
        "config and weights must come from the same checkpoint; an incomplete download looks like this too",
    )


def _x(shape: Sequence[int]) -> str:
    return "x".join(str(n) for n in shape) or "()"
