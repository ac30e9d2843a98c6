"""Rows of a text shared out among threads, with the matrix products of each thread held to one.

NumPy lets go of the interpreter inside its loops and products, so plain threads keep all cores busy. A slice of rows small
enough for a core's cache goes through a whole chain of steps before the next one begins; that, and not the number of
products, is what decides the time of a long text. A short text runs in the calling thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

T = TypeVar("T")

CHAIN = 256  # rows of a slice that goes through projections, norms and MLP: fewer make the products slower
ROWS = 512  # queries of one head's slice, at most: short steps make the threads wait for the interpreter
SCORES = 2**18  # of one head and slice: one mebibyte of float32, what a core's cache holds
SHORT = 96  # tokens; below this a pool costs more than it gains


@cache
def _executor(threads: int) -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(threads, thread_name_prefix="attn-cli")


class Pool:
    """Runs jobs on as many threads as there are cores, or here and now where there is only one thread."""

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def each(self, job: Callable[[T], None], items: Sequence[T], done: Callable[[float], None] | None = None) -> None:
        """Does `job` for every item; the first error is raised. `done` is told from here what share of them is finished."""
        for i, _ in enumerate((Pool(1) if len(items) == 1 else self).start(job, items), 1):
            if done is not None:
                done(i / len(items))

    def start(self, job: Callable[[T], None], items: Sequence[T]) -> Iterator[None]:
        """Begins `job` for every item; going through what it returns waits for each, or, with one thread, does it then."""

        def quiet(item: T) -> None:
            with np.errstate(all="ignore"):  # weights that are no numbers are found by the sums of the rows, and named
                job(item)

        return map(quiet, items) if self.threads == 1 else _executor(self.threads).map(quiet, items)


@contextmanager
def pool(n: int, threads: int | None = None) -> Iterator[Pool]:
    """A pool for a text of n tokens; products run single-threaded inside as long as it has more than one thread."""
    chosen = threads if threads is not None else (1 if n < SHORT else cores())
    if chosen == 1:
        yield Pool(1)
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
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
