"""A bar with the time that is left, on a terminal's standard error, for runs that take longer than about a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TextIO, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

T = TypeVar("T")

SOON = 1.0  # seconds: a shorter run needs no bar
_EVERY = 0.1  # seconds between two pictures of it


def progress(items: Iterable[T], total: int, *, quiet: bool = False) -> Iterable[T]:
    """The items as they are; with a bar where somebody watches.

    `quiet` where the result goes to the same screen while it is computed.
    """
    watched = not quiet and sys.stderr is not None and sys.stderr.isatty()
    return _shown(items, total, sys.stderr) if watched and total else items


def _shown(items: Iterable[T], total: int, stream: TextIO) -> Iterator[T]:
    started = drawn = time.monotonic()
    bar: Progress | None = None
    try:
        for done, item in enumerate(items):
            now = time.monotonic()
            if now - started > SOON and now - drawn > _EVERY:
                drawn = now
                bar = bar or _bar(total, stream)
                bar.update(bar.task_ids[0], completed=done, left=_left(now - started, done / total))
                bar.refresh()
            yield item
    finally:
        if bar is not None:
            bar.stop()


def _bar(total: int, stream: TextIO) -> Progress:
    """A bar that is drawn when it is told to, and gone when it stops."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    console = Console(file=stream, markup=False, highlight=False, emoji=False)
    text = TextColumn("{task.percentage:3.0f} %  {task.fields[left]}", markup=False)
    bar = Progress(BarColumn(30), text, console=console, transient=True, auto_refresh=False)
    bar.add_task("", total=total, left="")
    bar.start()
    return bar


def _left(passed: float, share: float) -> str:
    """How much longer at the pace so far; nothing before that can be told."""
    if share < 0.02:
        return ""
    seconds = round(passed / share - passed)
    return f"{seconds // 60} min {seconds % 60:02} s left" if seconds >= 60 else f"{seconds} s left"
