"""`weights`: what is inside weight files, from their headers alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attn_cli.model.inside import PARTS, Array, Inside, arrays, fold
from attn_cli.report import Column, Note, Report, Table
from attn_cli.spec import ModelSpec

SCHEMA = "attn-cli.weights/1"
SIZES = ("n_layers", "n_heads", "n_kv_heads", "d_model", "d_head", "d_mlp", "n_ctx", "vocab_size", "n_experts")
SOME = 6  # names in one line
UNUSED = "not used"


def weights(sources: Sequence[Inside], *, tensors: bool = False, version: str = "") -> Report:
    """The report of one source in full, or of several beside each other; `tensors`: with every tensor in the picture.

    The first table for programs is the one that CSV holds: the sources, or with `tensors` these.
    """
    found = [(inside, arrays(inside)) for inside in sources]
    one = len(sources) == 1
    inside, held = found[0]
    pictured = [_types_table(inside)] if one else [_comparison(found)]
    if one and inside.found is not None:
        pictured.insert(0, _parts_table(inside, held))
    if tensors:
        pictured += [_tensor_table(*entry, named=not one) for entry in found]
    elif one:
        pictured.append(_folded_table(held, bound=inside.found is not None))
    return Report(
        schema=SCHEMA,
        version=version,
        text=None,
        of_text=False,
        title=inside.source if one else "",
        model=_model(inside) if one else {},
        shown=_sizes(inside) if one else "",
        tables=(*pictured, *sorted(_data(found), key=lambda table: tensors and table.name != "tensors")),
        notes=tuple(n for inside in sources for n in _notes(inside, named=not one)),
    )


def describe_spec(spec: ModelSpec | None) -> Mapping[str, Any]:
    """A model's family and sizes by the names of the JSON contract; empty without a spec."""
    if spec is None:
        return {}
    found = {name: getattr(spec, name) for name in SIZES} | {"causal": spec.causal}
    if spec.decoder is not None:
        found["decoder"] = {name: getattr(spec.decoder, name) for name in SIZES} | {"causal": spec.decoder.causal}
    return {"family": spec.family, **found}


def sized(count: int) -> str:
    """A number of parameters as people say it: 134.5M."""
    amount, units = float(count), ["", "k", "M", "B", "T"]
    while round(amount, 1) >= 1000 and len(units) > 1:
        amount /= 1000
        units.pop(0)
    return f"{amount:.1f}{units[0]}" if units[0] else str(count)


def types(inside: Inside) -> list[tuple[str, int, int, int]]:
    """(type, tensors, parameters, bytes) of each type of number in the file, the one with most bytes first."""
    found: dict[str, list[int]] = {}
    for info in inside.checkpoint.tensors.values():
        entry = found.setdefault(info.dtype, [0, 0, 0])
        for i, add in enumerate((1, math.prod(info.shape), info.nbytes)):
            entry[i] += add
    return sorted(((t, *e) for t, e in found.items()), key=lambda row: (-row[3], row[0]))  # type: ignore[misc]


def _model(inside: Inside) -> Mapping[str, Any]:
    """Family and sizes; without a spec what the config calls itself."""
    return describe_spec(inside.spec) or {"family": inside.model_type}


def _sizes(inside: Inside) -> str:
    said = [f"{sized(inside.parameters)} parameters in {len(inside.checkpoint.tensors)} tensors ({_kind(inside)})"]
    spec = inside.spec
    if spec is not None:
        said.append(f"heads of {spec.d_head}")
        said += [f"{spec.n_kv_heads} key heads"] if spec.n_kv_heads != spec.n_heads else []
        said += [f"d_mlp {spec.d_mlp}"] if spec.d_mlp else []
        said += [f"{spec.n_experts} experts, {spec.n_experts_used} at a time"] if spec.n_experts else []
        said += [f"context {spec.n_ctx:,}"] if spec.n_ctx else []
        said += [f"vocabulary {spec.vocab_size:,}"] if spec.vocab_size else []
    return ", ".join(said)


def _kind(inside: Inside) -> str:
    return {"safetensors": "safetensors", "npz": "NumPy", "gguf": "GGUF", "pytorch": "PyTorch"}.get(
        inside.checkpoint.format, inside.checkpoint.format
    )


def _parts_table(inside: Inside, held: Iterable[Array]) -> Table:
    """Parameters by part of the model, and their sum."""
    columns = (
        Column(name="part", title="part"),
        Column(name="parameters", title="parameters", kind="count"),
        Column(name="share", title="%", kind="percent", bar=True),
        Column(name="nbytes", title="size", kind="bytes"),
    )
    rows = [row[1:] for row in _parts(inside, held)]
    rows.append(("all", inside.parameters, 1.0, inside.nbytes))
    tied = inside.spec is not None and inside.spec.logits and not any(a.part == "head" for a in held)
    note = "the output layer has no matrix of its own: it is the token embedding" if tied else ""
    return Table(name="", columns=columns, rows=tuple(rows), note=note, totals=1)


def _parts(inside: Inside, held: Iterable[Array]) -> Iterator[tuple[str, str, int, float, int]]:
    sums = {part: [0, 0] for part in PARTS}
    for array in held:
        sums[array.part][0] += array.parameters
        sums[array.part][1] += array.nbytes
    for part, (parameters, nbytes) in sums.items():
        if parameters or nbytes:
            yield inside.source, part, parameters, parameters / max(1, inside.parameters), nbytes


def _types_table(inside: Inside) -> Table:
    columns = (
        Column(name="type", title="type"),
        Column(name="tensors", title="tensors", kind="count"),
        Column(name="parameters", title="parameters", kind="count"),
        Column(name="bits", title="bits each", kind="number", digits=2),
        Column(name="nbytes", title="size", kind="bytes"),
    )
    rows = tuple((t, n, p, 8 * b / p if p else None, b) for t, n, p, b in types(inside))
    return Table(name="", columns=columns, rows=rows)


def _folded_table(held: Sequence[Array], *, bound: bool) -> Table:
    """Arrays of the same kind in all layers as one row."""
    columns = (
        Column(name="array", title="array", wraps=True, pictured=bound),
        Column(name="tensor", title="in the file", wraps=True),
        Column(name="shape", title="shape"),
        Column(name="stored", title="stored", pictured=bound),
        Column(name="type", title="type"),
        Column(name="parameters", title="parameters", kind="count"),
    )
    note = "shapes are (out, in), as the model uses them" if bound else ""
    return Table(name="", columns=columns, rows=tuple(_folded(held)), note=note)


def _folded(held: Sequence[Array]) -> list[tuple[Any, ...]]:
    """Rows of arrays alike in all layers; a matrix and its bias share one where they stand side by side in the file too."""
    groups: dict[tuple[Any, ...], list[Array]] = {}
    for array in held:
        groups.setdefault((array.dtype, array.shape, array.layout, array.name is None), []).append(array)
    order = {id(array): i for i, array in enumerate(held)}
    rows: list[tuple[int, str, str, list[Any]]] = []
    for (dtype, shape, layout, unused), members in groups.items():
        for name, of in fold([a.tensors[0] if unused else str(a.name) for a in members]):
            chosen = [members[i] for i in of]
            files = [spelling for spelling, _ in fold(list(dict.fromkeys(t for a in chosen for t in a.tensors)))]
            spelled = ", ".join(files[:3]) + (", ..." if len(files) > 3 else "")
            rest = [_shape(shape), layout, dtype, sum(a.parameters for a in chosen)]
            rows.append((order[id(chosen[0])], UNUSED if unused else name, spelled, rest))
    merged: dict[tuple[str, str], list[Any]] = {}
    for _, name, file, (size, layout, dtype, count) in sorted(rows, key=lambda row: row[0]):
        stem = _stem(name) if _stem(name) != name or name == UNUSED else None
        key = (stem, _stem(file)) if stem is not None and _stem(file) != file else (name, file)
        row = merged.setdefault(key, [name.removesuffix(".weight"), file, size, layout, dtype, 0])
        if row[1] != file:
            row[0], row[1] = key[0], f"{key[1]}.{{{row[1].rpartition('.')[2]},{file.rpartition('.')[2]}}}"
            row[2] += f", {size}"
            row[4] += f", {dtype}" if dtype != row[4] else ""
        row[5] += count
    return [tuple(row) for row in merged.values()]


def _stem(name: str) -> str:
    """A name without the `weight` or `bias` at its end."""
    for suffix in (".weight", ".bias", ".gamma", ".beta"):
        name = name.removesuffix(suffix)
    return name


def _tensor_table(inside: Inside, held: Iterable[Array], *, named: bool) -> Table:
    """Every tensor as the file has it."""
    columns = (
        Column(name="tensor", title="tensor", wraps=True),
        Column(name="shape", title="shape"),
        Column(name="type", title="type"),
        Column(name="nbytes", title="size", kind="bytes"),
        Column(name="arrays", title="array", wraps=True),
        Column(name="layout", title="stored"),
    )
    rows = tuple(
        (tensor, _shape(shape), dtype, nbytes, ", ".join(arrays) or UNUSED, layout)
        for _, tensor, dtype, shape, _, nbytes, arrays, layout in _tensors(inside, held)
    )
    return Table(name="", title=inside.source if named else "", columns=columns, rows=rows)


def _shape(shape: Iterable[int]) -> str:
    return "x".join(map(str, shape)) or "()"


def _comparison(found: Iterable[tuple[Inside, list[Array]]]) -> Table:
    """One row for each source."""
    columns = (
        Column(name="source", title="source", wraps=True),
        Column(name="family", title="family"),
        Column(name="heads", title="layers x heads"),
        Column(name="d_model", title="d_model", kind="count"),
        Column(name="parameters", title="parameters", kind="count"),
        Column(name="types", title="types", wraps=True),
        Column(name="nbytes", title="size", kind="bytes"),
        Column(name="supported", title="supported", kind="flag"),
    )
    rows = []
    for inside, _ in found:
        kinds = ", ".join(t for t, *_ in types(inside))
        family, heads = family_and_heads(inside)
        width = inside.spec.d_model if inside.spec else None
        ok = supported(inside)
        rows.append((inside.source, family, heads, width, inside.parameters, kinds, inside.nbytes, ok))
    return Table(name="", columns=columns, rows=tuple(rows))


def family_and_heads(inside: Inside) -> tuple[str | None, str | None]:
    """The family's name and `6 x 12`, of an encoder-decoder with the decoder's after a plus."""
    spec = inside.spec
    if spec is None:
        return inside.model_type, None
    stacks = [spec] if spec.decoder is None else [spec, spec.decoder]
    return spec.family, " + ".join(f"{s.n_layers} x {s.n_heads}" for s in stacks)


def supported(inside: Inside) -> bool:
    """Whether the model can be computed, as far as headers tell."""
    return inside.spec is not None and inside.error is None


def _data(found: Sequence[tuple[Inside, list[Array]]]) -> Iterator[Table]:
    """The tables for programs, whole: one row for each source, part, type and tensor."""
    sources = [
        (
            inside.source, str(inside.path), inside.checkpoint.format, inside.model_type, supported(inside),
            None if inside.error is None else inside.error.message, inside.parameters, inside.nbytes,
            dict(describe_spec(inside.spec)), *_lists(inside),
        )
        for inside, _ in found
    ]  # fmt: skip
    names = "source path format model_type supported why parameters nbytes sizes missing misshapen unexpected unused"
    yield _programs("sources", names, sources)
    yield _programs("parts", "source part parameters share nbytes", [r for i, held in found for r in _parts(i, held)])
    yield _programs(
        "types", "source type tensors parameters nbytes", [(i.source, *r) for i, _ in found for r in types(i)]
    )
    yield _programs(
        "tensors", "source tensor type shape parameters nbytes arrays layout",
        [row for inside, held in found for row in _tensors(inside, held)],
    )  # fmt: skip


def _programs(name: str, columns: str, rows: Iterable[tuple[Any, ...]]) -> Table:
    named = tuple(Column(name=column, title=column) for column in columns.split())
    return Table(name=name, columns=named, rows=tuple(rows), pictured=False)


def _lists(inside: Inside) -> tuple[list[str], ...]:
    match = inside.found
    return ([], [], [], []) if match is None else tuple(
        [inside.in_file(name) for name in names]
        for names in (match.missing, match.misshapen, match.unexpected, match.unused)
    )  # fmt: skip


def _tensors(inside: Inside, held: Iterable[Array]) -> Iterator[tuple[Any, ...]]:
    """Every tensor of the file in its order, with the arrays that are made of it."""
    uses: dict[str, list[Array]] = {}
    for array in held:
        for tensor in array.tensors:
            uses.setdefault(tensor, []).append(array)
    for name, info in inside.checkpoint.tensors.items():
        of = [a for a in uses.get(name, ()) if a.name is not None]
        layout = of[0].layout.split(",")[0] if of else None
        names = [a.name for a in of]
        yield inside.source, name, info.dtype, list(info.shape), math.prod(info.shape), info.nbytes, names, layout


def _notes(inside: Inside, *, named: bool) -> Iterator[Note]:
    """What the reader must know: choices of files, what is missing, what is not used."""
    about = f"{inside.source}: " if named else ""
    for note in inside.notes:
        yield Note(text=about + note, kind="warning")
    if inside.error is not None:
        yield Note(text=f"{about}not supported: {inside.error.message}", kind="warning")
    if inside.spec is None and inside.error is None:
        yield Note(text=f"{about}no config.json beside the weights: only their names, shapes and types are known")
    match = inside.found
    if match is None or named:
        return
    for what, names in (("missing", match.missing), ("unexpected", match.unexpected), ("not used", match.unused)):
        if names:
            folded = [name for name, _ in fold([inside.in_file(name) for name in names])]
            more = f" and {len(folded) - SOME} more" if len(folded) > SOME else ""
            kind = "info" if what == "not used" else "warning"
            yield Note(text=f"{len(names)} {what}: {', '.join(folded[:SOME])}{more}", kind=kind)  # type: ignore[arg-type]
