"""CSV of a report's table (RFC 4180, but with single newlines): raw values under the columns' names, no colours, one header."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from attn_cli.errors import UsageError
from attn_cli.report import Head, Report

from . import Target
from .json import dumps

SUFFIXES = (".csv",)
BINARY = False

_BREAK = "\r\n"  # what holds a part of it is quoted


def write(report: Report, target: Target) -> None:
    """Writes the first table, which holds what the command was asked for; without one, a line for each weight of each head."""
    named = [table for table in report.tables if table.name]
    if named:
        for line in ([column.name for column in named[0].columns], *named[0].rows):
            target.stream.write(_line(*line) + "\n")
        return
    if not report.of_text:
        raise UsageError("there is no table in this output", "use --json")
    target.stream.write("kind,layer,head,query,query_text,key,key_text,weight\n")
    for head in report.heads:
        for row in _rows(head):
            target.stream.write(row)


def _rows(head: Head) -> Iterator[str]:
    """One query's lines at a time: every weight, 0 where the mask hides the key, nothing where there is no number."""
    if head.attn is None:
        return
    keys = [_line(key, text) for key, text in zip(head.keys.positions, head.keys.texts, strict=True)]
    for i, (query, text) in enumerate(zip(head.queries.positions, head.queries.texts, strict=True)):
        row = np.ascontiguousarray(head.attn[i], dtype=np.float32)
        weights = dumps(row)[1:-1].replace("null", "").split(",")
        if head.visible is not None:
            weights = [weight if seen else "0" for weight, seen in zip(weights, head.visible[i].tolist(), strict=True)]
        start = _line(head.kind, head.layer, head.head, query, text)
        yield "".join([f"{start},{key},{weight}\n" for key, weight in zip(keys, weights, strict=True)])


def _line(*values: Any) -> str:
    """Values as they stand in a line, quoted where they must be."""
    part = io.StringIO()
    csv.writer(part, lineterminator=_BREAK).writerow([_plain(value) for value in values])
    return part.getvalue().removesuffix(_BREAK)


def _plain(value: Any) -> Any:
    """The value as one cell: nothing for None and NaN, the shortest decimals of float32; lists are joined by spaces."""
    if value is None or value != value:
        return ""
    if isinstance(value, np.floating | float):
        return str(np.float32(value))
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, Mapping):
        return " ".join(f"{name}:{_plain(v)}" for name, v in _entries(value))
    return " ".join(str(v) for v in value) if isinstance(value, Sequence) else value


def _entries(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The entries that have a value; those of a mapping within as decoder.n_layers."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}.{inner}", v) for inner, v in _entries(value))
        elif value is not None:
            yield name, value
