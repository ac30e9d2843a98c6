"""The pictures of heads that share rows and columns: matrices, top lists, one query in every head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from attn_cli.report import Head

from . import Target
from ._glyphs import Glyphs, percent, percent_fine
from ._lines import Block, Line, Run, beside, cells, flow, left, right
from ._matrix import HELD, MAX_ROWS, Grid, grid, matrix
from ._names import Name, head_name, names
from ._text import fit, visible
from ._text import width as width_of
from ._top import Keys, Plan, Planner, listed, tops

GAP = 3  # cells between heads side by side
_SEP = 2  # cells between a matrix row and its list
_LIST_TITLE = "looks most at"


class Group(NamedTuple):
    """Heads with the same rows and columns, and what every picture of them needs."""

    heads: Sequence[Head]
    rows: list[Name]
    columns: list[Name]
    target: Target
    glyphs: Glyphs
    every: bool  # of a list every key is drawn, not just those that fit in a line

    @classmethod
    def of(cls, heads: Sequence[Head], target: Target, glyphs: Glyphs, *, every: bool = False) -> Group:
        first = heads[0]
        rows, columns = names(first.queries, target.encoding), names(first.keys, target.encoding)
        return cls(heads, rows, columns, target, glyphs, every)


def matrices(group: Group, *, with_lists: bool) -> Block:
    """A matrix per head, side by side; `with_lists` each row ends in its strongest keys where they fit.

    Where every key is wanted and they do not all fit there, the lists follow the matrices.
    """
    shape = grid(group.heads, group.target.width, group.rows, group.columns)
    strongest = [tops(head) for head in group.heads] if with_lists and shape.complete else []
    drawn = [keys for by_query in strongest for query, keys in by_query.items() if query < shape.rows]
    planner = Planner(drawn, group.columns, every=group.every)
    room = group.target.width
    title = max(len(head_name(head)) for head in group.heads)
    counts = (len(planner.strongest),) if group.every else (2, 1)
    widths = [planner.least(keys) for keys in counts] if drawn else []
    fitting = [w for w in widths if 0 < w <= room - shape.width - _SEP]
    # A second key is worth less than a further head beside this one.
    beyond = max(fitting, key=lambda w: _units(len(group.heads), shape.width + _SEP + w, room)[0], default=0)
    least = max(title, shape.width + _SEP + beyond if beyond else shape.width)
    count, size = _units(len(group.heads), least, room)
    plan = planner.plan(size - shape.width - _SEP, fine=False, least=counts[-1]) if beyond else None
    width = max(least, shape.width + _SEP + plan.width) if plan else least
    units = []
    for i, head in enumerate(group.heads):
        body = matrix(head, shape, group.glyphs, group.target.color is not None)
        if plan:
            _add_lists(body, strongest[i], plan, shape, group.glyphs)
        units.append([_title(head, width, group), *body])
    below = [[], *lists(group)] if with_lists and group.every and plan is None else []
    return _bands(units, count, width) + _left_out(shape, group) + below


def lists(group: Group) -> Block:
    """A compact table per head, a line per query with its strongest keys."""
    strongest = [tops(head) for head in group.heads]
    asked = sorted({query for by_query in strongest for query in by_query})
    shown = asked[:MAX_ROWS]
    room = group.target.width
    floor = max((len(group.rows[query].end) for query in shown), default=0)
    longest = max((group.rows[query].width for query in shown), default=1)
    label = min(longest, max(floor, 4, min(14, room // 4)))
    drawn = [found[query] for found in strongest for query in shown if query in found]
    planner = Planner(drawn, group.columns, every=group.every)
    held = _held_width(group, label + 3 + planner.smallest, fine=False)
    base = label + 3 + held
    beyond = next((w for w in map(planner.least, (3, 2, 1)) if 0 < w <= room - base), 0)
    least = max(base + beyond, *(len(head_name(head)) for head in group.heads))
    count, size = _units(len(group.heads), least, room)
    plan = planner.plan(size - base, fine=True)
    width = max(least, base + plan.width) if plan else least
    units = []
    for head, found in zip(group.heads, strongest, strict=True):
        unit: Block = [_title(head, width, group)]
        for query in shown:
            name = right(group.rows[query].within(label, group.glyphs), label)
            rule = Run(f" {group.glyphs.rule} ", "faint")
            first, *more = listed(found.get(query, ()), plan, group.glyphs) if plan else [[]]
            line: Line = [Run(name), rule, *first]
            unit.append(line + _held(head, query, width - held - cells(line), held, fine=False))
            unit += [[Run(" " * label), rule, *rest] for rest in more]
        units.append(unit)
    block = _bands(units, count, width)
    if len(shown) < len(asked):
        text = f"first {len(shown)} of {len(asked)} queries shown; others: --query, all: -o FILE.json"
        block += [[], *_said(text, group)]
    return block


def one_query(group: Group) -> Block:
    """Per query a table of all heads, one line each: what it looks at."""
    strongest = [tops(head) for head in group.heads]
    asked = sorted({query for found in strongest for query in found})
    planner = Planner([keys for found in strongest for keys in found.values()], group.columns, every=group.every)
    labels = [head.folded or f"L{head.layer}.H{head.head}" for head in group.heads]
    label = max(len(text) for text in labels)
    held = _held_width(group, label + _SEP + planner.smallest, fine=True)
    base = label + _SEP + held
    plan = planner.plan(group.target.width - base, fine=True)
    if plan is None:
        return []
    width = base + plan.width
    block: Block = []
    for query in asked:
        kind = "" if group.heads[0].kind == "self" else f"  {group.heads[0].kind}"
        title = [Run(_placed(group.rows[query], group), "bold"), Run(" looks at"), Run(kind, "dim")]
        block += [[], title] if block else [title]
        for text, head, found in zip(labels, group.heads, strongest, strict=True):
            first, *more = listed(found.get(query, ()), plan, group.glyphs)
            line = [Run(left(text, label), "dim"), Run(" " * _SEP), *first]
            line += _held(head, query, width - held - cells(line), held, fine=True)
            block += [line, *([Run(" " * (label + _SEP)), *rest] for rest in more)]
    return block


def _units(n_heads: int, least: int, room: int) -> tuple[int, int]:
    """How many heads stand side by side, the bands being of even length, and the cells that each may take."""
    fitting = max(1, (room + GAP) // (least + GAP))
    bands = -(-n_heads // fitting)
    count = -(-n_heads // bands)
    return count, (room - GAP * (count - 1)) // count


def _title(head: Head, size: int, group: Group) -> Line:
    name = head_name(head)
    role = visible(head.role, group.target.encoding) if head.role else ""
    room = size - len(name) - 2
    if not role or room < 4:
        return [Run(name, "bold")]
    return [Run(name, "bold"), Run("  "), Run(fit(role, room, group.glyphs.cut), "dim")]


def _add_lists(body: Block, strongest: dict[int, Keys], plan: Plan, shape: Grid, glyphs: Glyphs) -> None:
    """Sets each row's list at its end, and their title at the end of the line above the first row."""
    first = len(body) - shape.rows
    if first and plan.width >= len(_LIST_TITLE):
        body[first - 1] += [Run(" " * _SEP), Run(_LIST_TITLE, "dim")]
    for i in range(shape.rows):
        body[first + i] += [Run(" " * _SEP), *listed(strongest.get(i, ()), plan, glyphs)[0]]


def _bands(units: list[Block], count: int, width: int) -> Block:
    """Units in bands of `count`, a blank line between the bands."""
    block: Block = []
    for i in range(0, len(units), count):
        block += [[], *beside(units[i : i + count], width, GAP)] if block else beside(units[:count], width, GAP)
    return block


def _left_out(shape: Grid, group: Group) -> Block:
    said = []
    if not shape.complete:
        said.append(
            f"{len(shape.columns)} of {shape.n_columns} columns shown, those with the most weight; "
            "all: -o FILE.json, or a wider terminal"
        )
    if shape.rows < len(group.rows):
        said.append(f"first {shape.rows} of {len(group.rows)} rows shown; others: --query, all: -o FILE.json")
    return [[], *(line for text in said for line in _said(text, group))] if said else []


def _said(text: str, group: Group) -> Block:
    return flow([[Run(text, "dim")]], group.target.width)


def _held_width(group: Group, taken: int, *, fine: bool) -> int:
    """Cells of the column that says how much weight lies on hidden tokens; 0 where it does not fit."""
    size = 2 + len(HELD) + 1 + (4 if fine else 3)
    some = any(head.held is not None for head in group.heads)
    return size if some and taken + size <= group.target.width else 0


def _held(head: Head, query: int, indent: int, size: int, *, fine: bool) -> Line:
    if head.held is None or not size:
        return []
    number = (percent_fine if fine else percent)(float(head.held[query]))
    return [Run(" " * indent), Run(f"  {HELD} " + right(number, size - len(HELD) - 3), "dim")]


def _placed(name: Name, group: Group) -> str:
    """A query's name with its position, short enough to head a table."""
    at = f"{name.mark}@{name.position}"
    return fit(name.text, max(4, group.target.width - width_of(at) - 16), group.glyphs.cut) + at
