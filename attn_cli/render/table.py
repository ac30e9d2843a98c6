"""The picture in a terminal: a matrix per head, the strongest keys of each query, one query in every head."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from attn_cli.report import Head, Report

from . import Target, _pooled
from ._glyphs import Glyphs, glyphs_of
from ._header import caption, header, legend
from ._lines import Block, trimmed
from ._maps import differences, head_map
from ._marks import marks, roles
from ._pause import wait
from ._pictures import Group, lists, matrices, one_query
from ._sections import section
from ._tables import table
from ._theme import encode

SUFFIXES = (".txt",)
BINARY = False

_LEAST_WIDTH = 20


def write(report: Report, target: Target) -> None:
    """Writes the picture of a report to the target's stream."""
    for i, page in enumerate(_pages(report, target)):
        if i > 1 and report.pause and report.sections[i - 1].title and not wait(report.pause, target):
            break
        target.stream.write(encode(page, target))


def lines(report: Report, target: Target) -> Block:
    """The picture, line by line."""
    return [line for page in _pages(report, target) for line in page]


def _pages(report: Report, target: Target) -> Iterator[Block]:
    """The header and then each section, where there are any; else all in one."""
    target = replace(target, width=max(_LEAST_WIDTH, target.width))
    glyphs = glyphs_of(target)
    if not report.sections:
        yield _picture(report, target, glyphs)
        return
    yield header(report, target, glyphs)
    for part in report.sections:
        yield [[], *section(part, target, glyphs)]


def _picture(report: Report, target: Target, glyphs: Glyphs) -> Block:
    """Header, pictures, tables, legend."""
    found = list(report.heads)
    power = _pooled.power(found)
    heads = _pooled.scaled(found, power) if power else found
    block = header(report, target, glyphs)
    top = len(block)
    has_matrix = has_mask = False
    for shared in _groups(heads):
        drawn = report.view in ("matrix", "both") and all(head.attn is not None for head in shared)
        group = Group.of(shared, target, glyphs, every=report.every_key)
        if drawn:
            picture = matrices(group, with_lists=report.view == "both")
        else:
            picture = one_query(group) if report.view == "query" else lists(group)
        block += [[], *picture]
        has_matrix |= drawn
        has_mask |= drawn and any(head.visible is not None and not head.visible.all() for head in shared)
    for made in report.maps:
        block += [[], *head_map(made, target, glyphs)]
    for part in report.tables:
        if part.pictured:
            block += [[], *table(part, target.width, target.encoding, glyphs)]
    if report.differences:
        block += differences(report.differences, target, glyphs)
    said = marks(report, heads, block[top:], target)
    if heads:
        held = any(head.held is not None for head in heads)
        blocks = _pooled.said(heads, power, glyphs.times) if any(head.pooled for head in heads) else []
        named = roles(heads, target, titled=report.view != "query")
        shown = {"matrix": has_matrix, "masked": has_mask, "held": held}
        block += [[], *legend(report, target, glyphs, **shown, blocks=blocks, power=power, roles=named, marks=said)]
    elif said:
        block += [[], *caption(said, target)]
    return [trimmed(line) for line in block[1 if block and not block[0] else 0 :]]


def _groups(heads: list[Head]) -> list[list[Head]]:
    """Heads that share their rows and columns, in the order they come."""
    groups: dict[object, list[Head]] = {}
    for head in heads:
        groups.setdefault((head.text, head.kind, head.queries.positions, head.keys.positions), []).append(head)
    return list(groups.values())
