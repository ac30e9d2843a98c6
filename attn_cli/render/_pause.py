"""Waiting for a key between the parts of a long picture, where a person sits before the terminal."""

from __future__ import annotations

import sys

from . import Target
from ._text import fit

_ENDS = ("q", "Q", "\x1b", "\x04")


def wait(prompt: str, target: Target) -> bool:
    """Shows the prompt until a key is pressed; False for q, Esc and end of input. True at once where there is no terminal."""
    if not target.tty or sys.stdin is None or not sys.stdin.isatty():
        return True
    shown = fit(prompt, target.width - 1)
    target.stream.write("\n" + (f"\x1b[7m{shown}\x1b[0m" if target.color else shown))
    target.stream.flush()
    key = _key()
    target.stream.write("\r" + " " * (target.width - 1) + "\r")
    return key not in _ENDS and key != ""


def _key() -> str:
    """One key as it is pressed, not echoed."""
    if sys.platform == "win32":
        import msvcrt

        key = msvcrt.getwch()
        if key == "\x03":
            raise KeyboardInterrupt
        return key
    import termios
    import tty

    where = sys.stdin.fileno()
    before = termios.tcgetattr(where)
    try:
        tty.setcbreak(where)
        key = sys.stdin.read(1)
    finally:
        termios.tcsetattr(where, termios.TCSAFLUSH, before)
    return key
