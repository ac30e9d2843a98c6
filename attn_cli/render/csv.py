"""CSV of a report's table (RFC 4180, but with single newlines): raw values under the columns' names, no colours, one header."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import Any

import numpy as np

from attn_cli.errors import UsageError
from attn_cli.report import Report, Table

from . import Target

SUFFIXES = (".csv",)
BINARY = False


def write(report: Report, target: Target) -> None:
    """Writes the first table, which holds what the command was asked for; without one, a line for each weight of each head."""
    writer = csv.writer(target.stream, lineterminator="\n")
    named = [table for table in report.tables if table.name]
    if named:
        _table(writer, named[0])
        return
    if not report.of_text:
        raise UsageError("there is no table in this output", "use --json")
    writer.writerow(("kind", "layer", "head", "query", "query_text", "key", "key_text", "weight"))
    for head in report.heads:
        if head.attn is None:
            continue
        for i, query in enumerate(head.queries.positions):
            for j, key in enumerate(head.keys.positions):
                seen = head.visible is None or head.visible[i, j]
                place = (head.kind, head.layer, head.head, query, head.queries.texts[i], key, head.keys.texts[j])
                writer.writerow([_plain(v) for v in (*place, head.attn[i, j] if seen else 0)])


def _table(writer: Any, table: Table) -> None:
    writer.writerow([column.name for column in table.columns])
    for row in table.rows:
        writer.writerow([_plain(value) for value in row])


def _plain(value: Any) -> Any:
    """The value as one cell: nothing for None and NaN, the shortest decimals of float32, positions joined by spaces."""
    if value is None or value != value:
        return ""
    if isinstance(value, np.floating | float):
        return str(np.float32(value))
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return " ".join(str(v) for v in value) if isinstance(value, Sequence) else value
