"""What several tests share."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np

GOLDEN = Path(__file__).parent / "golden"


def assert_close(got: np.ndarray, want: np.ndarray, atol: float, what: str = "arrays") -> None:
    """Fails, saying where, unless every element agrees within `atol`; shapes must be equal and NaN is never close."""
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        raise AssertionError(f"{what}: shape {got.shape} instead of {want.shape}")
    off = np.abs(got.astype(np.float64) - want.astype(np.float64))
    if not (off <= atol).all():
        where = np.unravel_index(int(np.nan_to_num(off, nan=np.inf).argmax()), off.shape)
        raise AssertionError(f"{what}: off by {off[where]:.3g} at {tuple(int(i) for i in where)}, allowed {atol:g}")


class Perturbed:
    """A checkpoint whose one tensor carries noise: random, because a constant is undone by norms and softmax."""

    def __init__(self, inner: object, name: str, scale: float = 0.5) -> None:
        self._inner, self._name, self._scale = inner, name, scale

    def __getattr__(self, attribute: str) -> object:
        return getattr(self._inner, attribute)

    def read(self, name: str, *, rows: list[int] | None = None, dtype: object = "float32") -> np.ndarray:
        read: Callable[..., np.ndarray] = self._inner.read  # type: ignore[attr-defined]
        array = read(name, rows=None, dtype=dtype)
        if name == self._name:
            spread = max(float(np.abs(array).max()), 0.1)
            noise = np.random.default_rng(0).normal(size=array.shape) * self._scale * spread
            array = array + noise.astype(array.dtype)
        return array if rows is None else array[list(rows)]


@dataclass(frozen=True)
class Done:
    """What a command line came to."""

    returncode: int
    stdout: bytes
    stderr: bytes


ENVIRONMENT = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "COLORFGBG", "LC_ALL", "LC_MESSAGES", "LANG")
NEEDS_A_PROCESS = {"PYTHONIOENCODING", "PYTHONUTF8", "LC_ALL"}


def attn_cli(*args: str, stdin: bytes | str | None = None, env: dict[str, str] | None = None) -> Done:
    """Runs the command line with a plain environment: in this process, unless the interpreter itself must start otherwise."""
    given = stdin.encode() if isinstance(stdin, str) else (stdin or b"")
    if NEEDS_A_PROCESS & set(env or {}):
        return attn_cli_process(*args, stdin=given, env=env)
    from attn_cli.cli import run

    out, errors = io.BytesIO(), io.BytesIO()
    plain = {k: v for k, v in os.environ.items() if k not in ENVIRONMENT} | (env or {})
    with ExitStack() as stack:
        for name, stream in (("stdout", out), ("stderr", errors)):
            wrapper = io.TextIOWrapper(stream, encoding="utf-8", errors="backslashreplace", newline="\n")
            stack.callback(wrapper.detach)
            stack.enter_context(patch.object(sys, name, wrapper))
            stack.callback(wrapper.flush)
        stack.enter_context(patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8")))
        stack.enter_context(patch.dict(os.environ, plain, clear=True))
        code = run(list(args))
    return Done(code, out.getvalue(), errors.getvalue())


def interruptible(*args: str) -> list[str]:
    """A command for a process of its own that Ctrl-C reaches, though the background jobs of a shell do not hear it."""
    script = "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    return [sys.executable, "-c", script + "runpy.run_module('attn_cli', run_name='__main__', alter_sys=True)", *args]


def attn_cli_process(*args: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> Done:
    """Runs the command line in a process of its own."""
    plain = {k: v for k, v in os.environ.items() if k not in ENVIRONMENT}
    done = subprocess.run(
        [sys.executable, "-m", "attn_cli", *args],
        input=stdin,
        capture_output=True,
        timeout=60,
        check=False,
        env=plain | {"PYTHONWARNINGS": "error"} | (env or {}),
    )
    return Done(done.returncode, done.stdout, done.stderr)
