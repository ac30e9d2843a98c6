"""The strongest keys of a query as a list with bars, and how many of them fit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from attn_cli.report import Head

from ._glyphs import Glyphs, bar, percent, percent_fine
from ._lines import Block, Run, left, right
from ._names import Name

GAP = 2  # cells between two keys of a list
_FALLBACK_KEYS = 5

Keys = Sequence[tuple[int, float]]  # (index of the key, weight), strongest first


class Plan(NamedTuple):
    """The columns of top lists: as many keys as fit, each a name, a number and a bar."""

    names: list[Name]
    n_keys: int
    label: int
    fine: bool  # one decimal
    number: int  # cells of a number
    whole: int  # cells of a bar that stands for a weight of 1
    bars: tuple[int, ...]  # cells kept for the bar of each rank
    every: bool = False  # keys that do not fit go on below, none is left out

    @property
    def width(self) -> int:
        texts = self.n_keys * (self.label + 1 + self.number) + sum(size + 1 for size in self.bars if size)
        return max(1, texts + GAP * (self.n_keys - 1))


def tops(head: Head) -> dict[int, Keys]:
    """The strongest keys by query, from the report or, where it has none, the weights; nothing masked."""
    if head.top or head.attn is None:
        return {top.query: _seen(head, top.query, top.keys) for top in head.top}
    found: dict[int, Keys] = {}
    for query, row in enumerate(head.attn):
        order = np.argsort(np.where(np.isnan(row), np.inf, -row), kind="stable")[:_FALLBACK_KEYS]
        found[query] = _seen(head, query, [(int(key), float(row[key])) for key in order])
    return found


def _seen(head: Head, query: int, keys: Keys) -> Keys:
    if head.visible is None:
        return [(key, weight) for key, weight in keys if not math.isnan(weight)]
    return [(key, weight) for key, weight in keys if head.visible[query, key] and not math.isnan(weight)]


class Planner:
    """Measures the lists of a group of heads once, then plans them for any width."""

    def __init__(self, lists: Iterable[Keys], names: list[Name], *, every: bool = False) -> None:
        self.names, self.every = names, every
        self.strongest: list[float] = []  # by rank
        used: set[int] = set()
        for keys in lists:
            for rank, (key, weight) in enumerate(keys):
                if rank == len(self.strongest):
                    self.strongest.append(0.0)
                self.strongest[rank] = max(self.strongest[rank], weight)
                used.add(key)
        self.longest = max((names[key].width for key in used), default=1)
        self.floor = max((len(names[key].end) for key in used), default=0)

    def least(self, count: int) -> int:
        """Cells of the shortest list of `count` keys that is worth a place beside a matrix; 0 for no list."""
        return self._made(min(count, len(self.strongest)), 12, 5, False).width if self.strongest else 0

    @property
    def smallest(self) -> int:
        """Cells of the poorest list: one short name and its number."""
        return self._made(1, 3, 0, False).width if self.strongest else 0

    def plan(self, size: int, *, fine: bool, least: int = 1) -> Plan | None:
        """The best list within `size` cells that has at least `least` keys; None where there is none.

        What gives way as the width shrinks: long bars, further keys, decimals, long labels, then the bars.
        """
        count = len(self.strongest)
        least = min(least, count)
        for label, whole in ((16, 6), (12, 5), (8, 5), (6, 4), (5, 0), (3, 0)):
            for fine_ in (True, False) if fine else (False,):
                for number in range(count, least - 1, -1):
                    plan = self._made(number, label, whole, fine_)
                    if plan.width <= size and (number >= min(3, count) or not fine_ or number == count):
                        return self._grown(plan, size)
        return None

    def _made(self, count: int, label: int, whole: int, fine: bool) -> Plan:
        write = percent_fine if fine else percent
        number = max((len(write(weight)) for weight in self.strongest[:count]), default=1)
        if not fine:
            number = max(2, number)
        bars = tuple(
            max(1, math.ceil(min(1.0, weight) * whole - 1e-9)) if whole else 0 for weight in self.strongest[:count]
        )
        label = min(self.longest, max(label, self.floor))
        return Plan(self.names, count, label, fine, number, whole, bars, self.every)

    def _grown(self, plan: Plan, size: int) -> Plan:
        if not plan.whole:
            return plan
        for whole in range(12, plan.whole, -1):
            longer = self._made(plan.n_keys, plan.label, whole, plan.fine)
            if longer.width <= size:
                return longer
        return plan


def listed(keys: Keys, plan: Plan, glyphs: Glyphs) -> Block:
    """One query's list: name, per cent and bar of each key; one that reads 0 only where it comes first.

    One line, or where the plan wants every key as many as it takes, each key below one of the first line.
    """
    lines: Block = []
    for rank, (key, weight) in enumerate(keys if plan.every else keys[: plan.n_keys]):
        number = percent_fine(weight) if plan.fine else percent(weight)
        if number in ("0", "0.0"):
            if not plan.every and (rank or weight <= 0):
                break
            number = "0" if weight <= 0 else "<.1" if plan.fine else "<1"
        style = "" if rank == 0 else "dim"
        column = rank % plan.n_keys
        if column:
            lines[-1].append(Run(" " * GAP))
        else:
            lines.append([])
        name = plan.names[key].within(plan.label, glyphs)
        lines[-1].append(Run(f"{left(name, plan.label)} {right(number, plan.number)}", style))
        size = plan.bars[column]
        if size:
            lines[-1] += [Run(" "), Run(left(bar(weight, plan.whole, size, glyphs), size), "bar", weight)]
    return lines or [[Run("-", "faint")]]
