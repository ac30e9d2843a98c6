"""The picture in a terminal: a matrix per head, the strongest keys of each query, one query in every head."""

from __future__ import annotations

from dataclasses import replace

from attn_cli.report import Head, Report

from . import Target
from ._glyphs import glyphs_of
from ._header import header, legend
from ._lines import Block, trimmed
from ._pictures import Group, lists, matrices, one_query
from ._theme import encode

SUFFIXES = (".txt",)
BINARY = False

_LEAST_WIDTH = 20


def write(report: Report, target: Target) -> None:
    """Writes the picture of a report to the target's stream."""
    target.stream.write(encode(lines(report, target), target))


def lines(report: Report, target: Target) -> Block:
    """The picture, line by line: header, pictures, legend."""
    target = replace(target, width=max(_LEAST_WIDTH, target.width))
    glyphs = glyphs_of(target)
    heads = list(report.heads)
    block = header(report, target, glyphs)
    has_matrix = has_mask = False
    for shared in _groups(heads):
        drawn = report.view in ("matrix", "both") and all(head.attn is not None for head in shared)
        group = Group.of(shared, target, glyphs)
        if drawn:
            picture = matrices(group, lists=report.view == "both")
        else:
            picture = one_query(group) if report.view == "query" else lists(group)
        block += [[], *picture]
        has_matrix |= drawn
        has_mask |= drawn and any(head.visible is not None and not head.visible.all() for head in shared)
    held = any(head.held is not None for head in heads)
    block += [[], *legend(report, target, glyphs, matrix=has_matrix, masked=has_mask, held=held)]
    return [trimmed(line) for line in block]


def _groups(heads: list[Head]) -> list[list[Head]]:
    """Heads that share their rows and columns, in the order they come."""
    groups: dict[object, list[Head]] = {}
    for head in heads:
        groups.setdefault((head.text, head.kind, head.queries.positions, head.keys.positions), []).append(head)
    return list(groups.values())
