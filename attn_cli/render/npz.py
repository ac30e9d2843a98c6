"""NumPy's .npz: one array for each head, written as it is computed, and the names of its rows and columns.

`L3.H1` is (queries, keys) in the type it was computed in, `encoder.L3.H1` that of one kind among several. `tokens` are the
texts, `queries` and `keys` the positions of the rows and columns (a row of positions each where tokens are merged, -1 for
none), `kinds`, `layers` and `heads` say whose the arrays are, in their order, and `about` is a JSON text of all else.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO, cast

import numpy as np

from attn_cli.report import Axis, Head, Report

from . import Target
from .json import dumps, rows

SUFFIXES = (".npz",)
BINARY = True

Add = Callable[[str, Any], None]


def write(report: Report, target: Target) -> None:
    """Writes head after head, none kept; the target's stream need not be one that can go back."""
    stream = cast(BinaryIO, getattr(target.stream, "buffer", target.stream))
    with zipfile.ZipFile(stream, "w") as archive:

        def add(name: str, array: Any) -> None:
            member = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            member.create_system, member.external_attr = 3, 0o600 << 16  # else the system's own would show
            with archive.open(member, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asarray(array, order="C"), version=(1, 0), allow_pickle=False)

        add("about", _about(report))
        if report.tokens:
            add("tokens", _texts([token.text for token in report.tokens]))
        if report.target_tokens is not None:
            add("target_tokens", _texts([token.text for token in report.target_tokens]))
        for table in report.tables:
            for column in table.columns if table.name else ():
                add(f"{table.name}.{column.name}", _column([row[column.name] for row in rows(table)]))
        _heads(report, add)
    stream.flush()


def _heads(report: Report, add: Add) -> None:
    """The heads as they come, and then whose they were."""
    seen: list[tuple[str, int, int]] = []
    sides: set[str] = set()
    for head in report.heads:
        name = name_of(head)
        for side, axis in (("queries", head.queries), ("keys", head.keys)):
            side = side if head.kind == "self" else f"{head.kind}.{side}"
            if side not in sides:
                sides.add(side)
                add(side, _positions(axis))
        if head.attn is not None:
            add(name, head.attn)
        else:
            add(f"{name}.top_keys", _tops(head, np.int64, lambda key, _: key, -1))
            add(f"{name}.top_weights", _tops(head, np.float32, lambda _, weight: weight, np.nan))
        if head.held is not None:
            add(f"{name}.held", head.held)
        seen.append((head.kind, -1 if head.layer is None else head.layer, -1 if head.head is None else head.head))
    if seen:
        add("kinds", _texts([kind for kind, _, _ in seen]))
        add("layers", np.array([layer for _, layer, _ in seen], np.int64))
        add("heads", np.array([number for _, _, number in seen], np.int64))


def name_of(head: Head) -> str:
    """What a head's array is called; a fold of several has * in place of the number that it has not."""
    layer, number = ("*" if i is None else i for i in (head.layer, head.head))
    return f"L{layer}.H{number}" if head.kind == "self" else f"{head.kind}.L{layer}.H{number}"


def _about(report: Report) -> np.ndarray:
    """What JSON says beside the arrays, as one text."""
    about: dict[str, Any] = {
        "schema": report.schema,
        "version": report.version,
        "text": report.text,
        "pair": report.pair,
        "target": report.target,
        "model": dict(report.model),
        "measure": report.measure,
        "merge": report.merge,
        "hidden": report.hidden,
        "renormalised": report.renormalised,
        "notes": [note.text for note in report.notes],
        **report.fields,
    }
    return np.array(dumps(about))


def _texts(texts: Sequence[str]) -> np.ndarray:
    return np.array(texts or [], dtype=np.str_)


def _positions(axis: Axis) -> np.ndarray:
    """The positions of an axis: (n,), or (n, longest) where a row or column is several tokens."""
    if all(isinstance(p, int) for p in axis.positions):
        return np.array(axis.positions, np.int64)
    groups = [(p,) if isinstance(p, int) else p for p in axis.positions]
    found = np.full((len(groups), max(map(len, groups))), -1, np.int64)
    for row, group in zip(found, groups, strict=True):
        row[: len(group)] = group
    return found


def _tops(head: Head, dtype: Any, of: Callable[[int, float], float], nothing: float) -> np.ndarray:
    """(queries, k): the strongest keys of each query, by their place among the keys, or what they weigh."""
    found = np.full((len(head.queries), max((len(top.keys) for top in head.top), default=0)), nothing, dtype)
    for top in head.top:
        found[top.query, : len(top.keys)] = [of(key, weight) for key, weight in top.keys]
    return found


def _column(values: Sequence[Any]) -> np.ndarray:
    """A table's column: truth values, whole numbers, else numbers with NaN for none, else texts with nothing for none."""
    if values and all(isinstance(v, bool | np.bool_) for v in values):
        return np.array(values, np.bool_)
    if values and all(isinstance(v, int | np.integer) and not isinstance(v, bool) for v in values):
        return np.array(values, np.int64)
    if all(v is None or (isinstance(v, int | float | np.number) and not isinstance(v, bool)) for v in values):
        return np.array([np.nan if v is None else v for v in values], np.float64)
    return _texts(["" if v is None else v if isinstance(v, str) else dumps(v) for v in values])
