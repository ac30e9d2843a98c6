"""JSON lines by the contract `attn-cli.show-head/1`: one head a line, each sent as soon as it is computed."""

from __future__ import annotations

from typing import Any

from attn_cli.report import Report

from . import Target
from .json import dumps, head_parts, rows, sender

SUFFIXES = (".jsonl",)
BINARY = False
SCHEMA = "attn-cli.show-head/1"


def write(report: Report, target: Target) -> None:
    """Takes the heads one at a time and flushes after each line; a line is whole or not written."""
    send = sender(target)
    for table in report.tables:
        for row in rows(table) if table.name else ():
            send(dumps({"schema": report.schema, "table": table.name, **row}) + "\n")
    last: dict[str, Any] = {"tokens": [token.text for token in report.tokens]}
    if report.target_tokens is not None:
        last["target_tokens"] = [token.text for token in report.target_tokens]
    last |= {name: report.model.get(name) for name in ("source", "weights", "embeddings")}
    for head in report.heads:
        send("".join(head_parts(head, {"schema": SCHEMA, "text": head.text}, last)) + "\n")
        target.stream.flush()
