"""One module per output format, each with SUFFIXES, BINARY and `write(report, target)`.

A renderer writes whole text to `target.stream` and decides nothing about the terminal itself: width, colour
and what the stream's encoding can hold are facts of the `Target`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TextIO

Color = Literal["16", "256", "truecolor"]

# Every glyph the pictures draw with. A stream whose encoding lacks one of them gets the ASCII forms of all.
GLYPHS = "·░▒▓█▏▎▍▌▋▊▉▐─…⋮┊│\u00d7␣↵⇥␍◌▲"
PIPE_WIDTH = 100
_COLORS: tuple[Color, ...] = ("16", "256", "truecolor")


@dataclass(frozen=True)
class Target:
    """Where a renderer writes, and what can be shown there."""

    stream: TextIO
    width: int = PIPE_WIDTH  # in terminal cells
    color: Color | None = None
    unicode: bool = True  # the stream's encoding holds GLYPHS
    dark: bool = True  # light text on a dark background
    tty: bool = False

    @classmethod
    def of(cls, stream: TextIO, env: Mapping[str, str] = os.environ, *, color: bool | Color | None = None) -> Target:
        """The target for a stream; `color` (False, True or a depth) beats NO_COLOR, FORCE_COLOR, isatty."""
        tty = _isatty(stream)
        return cls(
            stream=stream,
            width=_width(stream, env, tty),
            color=_color(stream, env, tty, color),
            unicode=_holds(stream, GLYPHS),
            dark=_dark(env),
            tty=tty,
        )

    @property
    def encoding(self) -> str | None:
        """The encoding that text must be kept within; None where any text can be written."""
        encoding = getattr(self.stream, "encoding", None)
        if encoding is not None and not is_utf(encoding):
            return str(encoding)
        return None if self.unicode else "ascii"


def is_utf(encoding: str) -> bool:
    """Whether an encoding holds every character of Unicode."""
    return encoding.lower().replace("_", "-").startswith(("utf", "u8", "cp65001", "gb18030"))


def _isatty(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False


def _holds(stream: TextIO, text: str) -> bool:
    encoding = getattr(stream, "encoding", None)
    if encoding is None:  # io.StringIO
        return True
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _width(stream: TextIO, env: Mapping[str, str], tty: bool) -> int:
    columns = env.get("COLUMNS", "").strip()
    if columns.isascii() and columns.isdigit() and int(columns[:6]) > 0:
        return int(columns[:6])
    if tty:
        try:
            return os.get_terminal_size(stream.fileno()).columns or 80
        except (OSError, ValueError, AttributeError):
            return 80
    return PIPE_WIDTH


def _color(stream: TextIO, env: Mapping[str, str], tty: bool, asked: bool | Color | None) -> Color | None:
    if isinstance(asked, str):
        return asked
    forced = env.get("FORCE_COLOR", "")
    if asked is None:
        if env.get("NO_COLOR"):
            return None
        asked = forced not in ("0", "false") if forced else tty
        if not asked or (env.get("TERM") == "dumb" and not forced):
            return None
    if not asked:
        return None
    depth = _depth(env)
    if sys.platform == "win32" and tty:
        return _windows_depth(stream, depth)
    # FORCE_COLOR 1, 2, 3 name a depth by custom; anything else only says "in colour".
    return _COLORS[int(forced) - 1] if forced in ("1", "2", "3") and not tty and depth == "16" else depth


def _depth(env: Mapping[str, str]) -> Color:
    if env.get("COLORTERM", "").lower() in ("truecolor", "24bit") or "WT_SESSION" in env:
        return "truecolor"
    term = env.get("TERM", "").lower()
    if term.endswith(("-direct", "-truecolor")) or term.startswith(("xterm-kitty", "xterm-ghostty", "alacritty")):
        return "truecolor"
    return "256" if "256" in term else "16"


def _windows_depth(stream: TextIO, depth: Color) -> Color | None:
    """Switches a Windows console to escape sequences; None where it has no such mode (before Windows 10)."""
    if sys.platform != "win32":
        return depth
    import ctypes
    import msvcrt

    try:
        handle = msvcrt.get_osfhandle(stream.fileno())
    except (OSError, ValueError, AttributeError):
        return None
    kernel = ctypes.windll.kernel32
    mode = ctypes.c_ulong()
    if not kernel.GetConsoleMode(handle, ctypes.byref(mode)):
        return depth  # a pseudo-terminal of another kind, which reads the sequences itself
    enable_virtual_terminal = 4
    if not kernel.SetConsoleMode(handle, mode.value | enable_virtual_terminal):
        return None
    return "truecolor"


def _dark(env: Mapping[str, str]) -> bool:
    """False only where COLORFGBG (`fg;bg` or `fg;default;bg`) names a light background: 7 or 9 to 15."""
    background = env.get("COLORFGBG", "").rpartition(";")[2]
    return background not in ("7", "9", "10", "11", "12", "13", "14", "15")
