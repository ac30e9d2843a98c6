"""The pool does every job once, stops at an error, and leaves the process as it was."""

from __future__ import annotations

import sys
import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from attn_cli.model import pool as pool_module
from attn_cli.model.pool import SHORT, Pool, pool, slices


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 2, 40])
def test_every_job_is_done_once(threads: int, count: int) -> None:
    done: list[int] = []
    shares: list[float] = []
    Pool(threads).each(done.append, range(count), shares.append)
    assert sorted(done) == list(range(count))
    assert shares == sorted(shares)
    assert all(0 < share <= 1 for share in shares)


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_is_raised_and_ends_the_work(threads: int) -> None:
    begun: list[int] = []

    def job(i: int) -> None:
        begun.append(i)
        time.sleep(0.001)
        if i == 2:
            raise ValueError("two")

    with pytest.raises(ValueError, match="two"):
        Pool(threads).each(job, range(1000))
    assert len(begun) < 500
    Pool(threads).each(begun.append, [-1])  # the threads are still there
    assert begun[-1] == -1


def test_an_error_of_another_thread_is_raised_here() -> None:
    here = threading.get_ident()

    def job(i: int) -> None:
        time.sleep(0.002)
        if threading.get_ident() != here:
            raise ValueError("there")

    with pytest.raises(ValueError, match="there"):
        Pool(2).each(job, range(50))


def test_work_begun_is_done_beside_the_caller() -> None:
    done: set[int] = set()
    work = Pool(2).start(done.add, range(10))
    until = time.monotonic() + 10
    while len(done) < 10 and time.monotonic() < until:
        time.sleep(0.001)
    assert done == set(range(10))
    work.finish()


def test_nothing_runs_after_a_stop() -> None:
    begun: list[int] = []
    ended: list[int] = []

    def job(i: int) -> None:
        begun.append(i)
        time.sleep(0.02)
        ended.append(i)

    work = Pool(3).start(job, range(50))
    until = time.monotonic() + 10
    while not begun and time.monotonic() < until:
        time.sleep(0.001)
    work.stop()
    assert 1 <= len(begun) < 10
    assert sorted(ended) == sorted(begun)
    time.sleep(0.05)
    assert len(begun) == len(ended)


def test_an_error_elsewhere_stops_the_others() -> None:
    here, done = threading.get_ident(), []

    def job(i: int) -> None:
        if threading.get_ident() != here:
            raise ValueError("there")
        time.sleep(0.01)
        done.append(i)

    with pytest.raises(ValueError, match="there"):
        Pool(2).each(job, range(100))
    assert len(done) < 10


def test_the_share_is_what_was_taken() -> None:
    shares: list[float] = []
    Pool(1).each(lambda _: None, range(4), shares.append)
    assert shares == [0.25, 0.5, 0.75, 1]


def test_a_shorter_interval_stays() -> None:
    before = sys.getswitchinterval()
    try:
        sys.setswitchinterval(1e-5)
        with pool(SHORT, threads=2):
            assert sys.getswitchinterval() == pytest.approx(1e-5)
    finally:
        sys.setswitchinterval(before)


def test_the_process_is_left_as_it_was() -> None:
    interval, before = sys.getswitchinterval(), _products()
    with pool(SHORT, threads=2) as workers:
        assert workers.threads == 2
        assert set(_products()) <= {1}
        assert sys.getswitchinterval() < interval
    assert (sys.getswitchinterval(), _products()) == (interval, before)


@pytest.mark.parametrize("first", [0, 1])
def test_two_pools_leave_the_process_as_it_was_in_any_order(first: int) -> None:
    interval, before = sys.getswitchinterval(), _products()
    opened = [pool(SHORT, threads=2), pool(SHORT, threads=2)]
    for one in opened:
        one.__enter__()
    opened[first].__exit__(None, None, None)
    assert set(_products()) <= {1}
    assert sys.getswitchinterval() < interval
    opened[1 - first].__exit__(None, None, None)
    assert (sys.getswitchinterval(), _products()) == (interval, before)


def test_pools_of_other_threads_leave_the_process_as_it_was() -> None:
    before = _products()
    first_is_open, second_is_open, first_is_closed = threading.Event(), threading.Event(), threading.Event()
    inside: list[list[int]] = []

    def first() -> None:
        with pool(SHORT, threads=2):
            first_is_open.set()
            second_is_open.wait(10)
        first_is_closed.set()

    def second() -> None:
        first_is_open.wait(10)
        with pool(SHORT, threads=2):
            second_is_open.set()
            first_is_closed.wait(10)
            inside.append(_products())

    threads = [threading.Thread(target=job) for job in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [set(counts) for counts in inside] == [{1}]
    assert _products() == before
    with threadpool_limits(limits=2, user_api="blas"):  # of this thread, while another one runs a text
        counts = _products()
        thread = threading.Thread(target=lambda: inside.append(_within()))
        thread.start()
        thread.join()
        assert set(inside[-1]) == {1}
        assert _products() == counts


def _within() -> list[int]:
    with pool(SHORT, threads=2):
        return _products()


def test_all_is_done_where_no_thread_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(threads: int) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(pool_module, "_helpers", refuse)
    done: list[int] = []
    Pool(2).each(done.append, range(5))
    assert done == list(range(5))


def test_a_short_text_needs_no_other_thread() -> None:
    with pool(SHORT - 1) as workers:
        assert workers.threads == 1


@pytest.mark.parametrize(("n", "rows"), [(0, 4), (1, 4), (4, 4), (9, 4)])
def test_slices_cover_all_rows(n: int, rows: int) -> None:
    found = slices(n, rows)
    assert np.concatenate([np.arange(n)[part] for part in found] or [[]]).tolist() == list(range(n))
    assert all(part.stop - part.start <= rows for part in found)


def _products() -> list[int]:
    """The threads of each library of matrix products."""
    np.ones((2, 2)) @ np.ones((2, 2))
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]
