"""The bar: only where somebody watches, only when it takes long, and gone before the result."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import time

import pytest

from attn_cli import progress
from tests.helpers import interruptible


class Screen(io.StringIO):
    """Something that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that pass when a test says so."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_pipe_sees_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    items = range(5)
    assert progress.progress(items, 5) is items


def test_nor_does_a_screen_that_shows_the_result_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Screen())
    items = range(5)
    assert progress.progress(items, 5, quiet=True) is items


def test_a_short_run_draws_nothing(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    for _ in progress.progress(range(100), 100):
        clock[0] += 0.005
    assert screen.getvalue() == ""


def test_a_long_run_tells_the_time_that_is_left_and_is_cleared(
    monkeypatch: pytest.MonkeyPatch, clock: list[float]
) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm-256color")
    found = []
    for item in progress.progress(range(100), 100):
        found.append(item)
        clock[0] += 1.5
    written = screen.getvalue()
    assert found == list(range(100))
    assert "50 %" in written
    assert "1 min 15 s left" in written
    assert written.rstrip("\r").endswith("\x1b[2K"), "the line is cleared"
    assert "\x1b[?25h" in written, "the cursor is back"


def test_an_interrupted_run_is_cleared_too(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    items = iter(progress.progress(range(100), 100))
    for _ in range(10):
        next(items)
        clock[0] += 1
    items.close()  # type: ignore[attr-defined]
    assert screen.getvalue().count("\x1b[?25h") == 1


@pytest.mark.parametrize(
    ("passed", "share", "said"), [(1.0, 0.01, ""), (1.0, 0.5, "1 s left"), (30.0, 0.1, "4 min 30 s left")]
)
def test_time_left(passed: float, share: float, said: str) -> None:
    assert progress._left(passed, share) == said


@pytest.mark.skipif(sys.platform == "win32", reason="has no such signal")
def test_an_interrupted_long_text_leaves_without_a_word() -> None:
    words = ("the cat sat " * 15000).encode()
    command = interruptible("show", "--random", "--n-layers", "4", "--causal", "-H", "3.0")
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if process.stdin is None:
        raise RuntimeError("no pipe")
    process.stdin.write(words)
    process.stdin.close()
    process.stdin = None
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=20)
    assert (process.returncode, out, errors) == (130, b"", b"")
