"""Rows of a text shared out among threads, with the matrix products of each thread held to one.

NumPy lets go of the interpreter inside its loops and products, so plain threads keep all cores busy. A slice of rows goes
through a whole chain of steps before the next one begins, so that few arrays are in use at a time. A short text runs in the
calling thread.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

T = TypeVar("T")

CHAIN = 512  # rows, at most, of a slice that goes through projections, norms and MLP: fewer make the products slower
ROWS = 512  # queries of one head's slice, at most: short steps make the threads wait for the interpreter
SCORES = 2**18  # of one head and slice: one mebibyte of float32, what a core's cache holds
SHORT = 96  # tokens; below this a pool costs more than it gains
SWITCH = 0.0005  # seconds until a thread that waits for the interpreter looks again; Python's 0.005 is a job's time


@cache
def _helpers(threads: int) -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(threads, thread_name_prefix="attn-cli")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.cache_clear)  # a child has none of its parent's threads


@cache
def _libraries() -> Any:
    """The libraries of matrix products that are loaded; looking for them takes a while."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _take_over() -> None:
    """Lets this thread set the limit, though another set it last: threadpoolctl 3.8 ignores all threads but that one."""
    from threadpoolctl import OpenBLASController

    clear = getattr(OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


class Work(Generic[T]):
    """Jobs that the helpers have begun, and that whoever waits for them works on as well.

    So there are never more threads at work than cores: a thread that holds the interpreter while no core is free for it
    holds up all others, for milliseconds.
    """

    def __init__(self, job: Callable[[T], None], items: Sequence[T], threads: int, helpers: int) -> None:
        self._job, self._left, self._all = job, deque(items), len(items)
        self._begun: list[Future[None]] = []
        with suppress(RuntimeError):  # no thread can be had: whoever waits does all of it
            for _ in range(helpers):
                self._begun.append(_helpers(threads - 1).submit(self._take))

    def finish(self, done: Callable[[float], None] | None = None) -> None:
        """Until all jobs are done; an error of theirs is raised, this thread's before the others'.

        `done` is told from here what share of the jobs is taken.
        """
        try:
            self._take(done)
        finally:
            self.stop()
        for begun in self._begun:
            if not begun.cancelled():
                begun.result()

    def stop(self) -> None:
        """Begins no other job, and waits for those that are on their way."""
        self._left.clear()
        for begun in self._begun:
            if not begun.cancel():  # a thread that has better to do than to come is not waited for
                begun.exception()

    def _take(self, done: Callable[[float], None] | None = None) -> None:
        with np.errstate(all="ignore"):  # weights that are no numbers are found by the sums of the rows, and named
            while True:
                try:
                    item = self._left.popleft()
                except IndexError:
                    return
                try:
                    self._job(item)
                except BaseException:
                    self._left.clear()
                    raise
                if done is not None:
                    done(1 - len(self._left) / self._all)


class Pool:
    """Runs jobs on as many threads as there are cores, the calling one among them."""

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def each(self, job: Callable[[T], None], items: Sequence[T], done: Callable[[float], None] | None = None) -> None:
        """Does `job` for every item; the first error is raised. `done` is told from here what share of them is taken."""
        Work(job, items, self.threads, min(self.threads, len(items)) - 1).finish(done)

    def start(self, job: Callable[[T], None], items: Sequence[T]) -> Work[T]:
        """Begins `job` for every item on the other threads."""
        return Work(job, items, self.threads, min(self.threads - 1, len(items)))


class _Process:
    """What pools change in the whole process: set by the first that opens, undone by the last that closes, in any order."""

    def __init__(self) -> None:  # a generator that the garbage collector closes may come in between: RLock
        self._lock, self._open, self._undo = threading.RLock(), 0, ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if not self._open:
                interval = sys.getswitchinterval()
                _take_over()
                self._undo.enter_context(_libraries().limit(limits=1, user_api="blas"))
                self._undo.callback(sys.setswitchinterval, interval)
                sys.setswitchinterval(min(SWITCH, interval))
            self._open += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._open -= 1
            if not self._open:
                _take_over()
                self._undo.close()


_PROCESS = _Process()


@contextmanager
def pool(n: int, threads: int | None = None) -> Iterator[Pool]:
    """A pool for a text of n tokens; with more than one thread, products run single-threaded inside, in the whole process."""
    chosen = threads if threads is not None else (1 if n < SHORT else cores())
    if chosen == 1:
        yield Pool(1)
        return
    with _PROCESS:
        yield Pool(chosen)


def cores() -> int:
    """The cores this process may use; ATTN_CLI_THREADS sets another number."""
    asked = os.environ.get("ATTN_CLI_THREADS", "")
    if asked.isascii() and asked.isdigit() and 0 < int(asked) <= 1024:
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def slices(n: int, rows: int = ROWS) -> list[slice]:
    """0 to n in slices of so many rows."""
    return [slice(start, min(start + rows, n)) for start in range(0, n, rows)]
