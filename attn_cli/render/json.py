"""JSON by the contract `attn-cli.show/1`: raw text, weights in the shortest decimals of float32, NaN as null.

UTF-8, or `\\u` escapes throughout where the stream's encoding is another. Half a surrogate pair in a text is
written as its `\\udcXX` escape, which is JSON, though not every reader takes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from attn_cli.report import Difference, Head, Report, Table, Token

from . import Target, is_utf

SUFFIXES = (".json",)
BINARY = False

_BLOCK = 1 << 16  # weights turned to text at a time


def write(report: Report, target: Target) -> None:
    """Writes one document, head by head, so that the text of all matrices never stands in memory at once."""
    heads = tuple(report.heads)
    send = sender(target)
    if not report.of_text or any(table.name == "heads" for table in report.tables):
        send(dumps(_document(report)) + "\n")
        return
    send(dumps(_document(report))[:-1])
    for i, head in enumerate(heads):
        send("," if i else ',"heads":[')
        for part in head_parts(head):
            send(part)
    send("]}\n" if heads else ',"heads":[]}\n')


def head_parts(head: Head, first: dict[str, Any] | None = None, last: dict[str, Any] | None = None) -> Iterator[str]:
    """One head as a JSON object in parts, with further entries before and after its own."""
    fields = {**(first or {}), "kind": head.kind, "layer": head.layer, "head": head.head}
    fields |= {"folded": head.folded} if head.folded else {}
    fields |= {"queries": head.queries.positions, "keys": head.keys.positions}
    yield dumps(fields)[:-1]
    if head.attn is not None:
        yield ',"attn":['
        yield from _rows(head.attn)
        yield "]"
    yield "," + dumps({"top": _top(head)})[1:-1]
    rest = dict(last or {})
    if head.held is not None:
        rest = {"held": np.ascontiguousarray(head.held, dtype=np.float32), **rest}
    yield "," + dumps(rest)[1:] if rest else "}"


def rows(table: Table) -> list[dict[str, Any]]:
    """The rows of a table as objects, by the columns' names."""
    names = [column.name for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.rows]


def dumps(value: Any) -> str:
    """A JSON text without spaces; orjson's, except where it refuses half a surrogate pair."""
    import orjson

    try:
        return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY).decode("utf-8")
    except TypeError:
        return json.dumps(_plain(value), separators=(",", ":"), allow_nan=False)


def sender(target: Target) -> Callable[[str], object]:
    """The stream's `write`, with `\\u` escapes for all but ASCII where the encoding is not one of Unicode."""
    write_text = target.stream.write
    encoding = getattr(target.stream, "encoding", None)
    if encoding is None or is_utf(encoding):
        return write_text
    return lambda text: write_text(text if text.isascii() else _escaped(text))


def _document(report: Report) -> dict[str, Any]:
    """All entries but the heads, in the order of the contract."""
    tables = {table.name: rows(table) for table in report.tables if table.name}
    if not report.of_text:
        model = {"model": dict(report.model)} if report.model else {}
        return {"schema": report.schema, "version": report.version, **model, **report.fields, **tables}
    return {
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
        **report.fields,
        **tables,
        **_differences(report.differences),
        "tokens": _tokens(report.tokens),
        "target_tokens": None if report.target_tokens is None else _tokens(report.target_tokens),
    }


def _differences(made: Sequence[Difference]) -> dict[str, Any]:
    """Signed changes of weights, an entry only where there are some."""
    found = [
        {
            "kind": change.kind,
            "layer": change.layer,
            "head": change.head,
            "queries": change.queries.positions,
            "keys": change.keys.positions,
            "change": np.ascontiguousarray(change.change, dtype=np.float32),
        }
        for change in made
    ]
    return {"differences": found} if found else {}


def _tokens(tokens: tuple[Token, ...]) -> list[dict[str, Any]]:
    names = ("position", "id", "piece", "text", "start", "end", "special", "segment")
    return [{name: getattr(token, name) for name in names} for token in tokens]


def _rows(attn: np.ndarray) -> Iterator[str]:
    """The rows of a matrix (queries, keys), a block of them at a time, without the outer brackets."""
    step = max(1, _BLOCK // max(1, attn.shape[1]))
    for start in range(0, len(attn), step):
        block = np.ascontiguousarray(attn[start : start + step], dtype=np.float32)
        yield ("," if start else "") + dumps(block)[1:-1]


def _top(head: Head) -> list[dict[str, Any]]:
    texts, keys, queries = head.keys.texts, head.keys.positions, head.queries.positions
    return [
        {
            "query": queries[top.query],
            "keys": [{"key": keys[i], "text": texts[i], "weight": np.float32(weight)} for i, weight in top.keys],
        }
        for top in head.top
    ]


def _plain(value: Any) -> Any:
    """The value in the types of the standard library, whose json escapes half surrogate pairs."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = float(str(value)) if isinstance(value, np.floating) else value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _escaped(text: str) -> str:
    return re.sub(r"[^\x00-\x7f]", lambda found: json.dumps(found[0])[1:-1], text)
