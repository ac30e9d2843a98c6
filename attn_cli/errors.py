"""The errors a user can cause or meet. One base, one kind per exit code; everything else is a bug of ours (exit 1).

    AttnError
      UsageError        2    the command line asks for something impossible
      CheckpointError   3    weights, config or tokenizer files cannot be read
      UnsupportedError  4    files are sound, but the model is not one we compute
      TextError         5    the text cannot be used with this model

Raise with what is wrong (naming the file, tensor, key or option) and a hint that says what to do.
"""

from __future__ import annotations


class AttnError(Exception):
    """Base of all expected failures: `message` says what is wrong, `hint` what to do about it."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(AttnError):
    """The options or arguments cannot be met."""

    exit_code = 2


class CheckpointError(AttnError):
    """A weight, config or tokenizer file is missing, damaged or lies about its contents."""

    exit_code = 3


class UnsupportedError(AttnError):
    """The model is of a kind, or has a setting, that this program does not compute."""

    exit_code = 4


class TextError(AttnError):
    """The text is empty, too long, or holds what this model cannot take."""

    exit_code = 5


def quote(name: str, limit: int = 120) -> str:
    """The string in quotes, safe in one line: unprintable characters escaped, a long one cut in the middle.

    Made for names from files: they may hold an ESC, a newline, a right-to-left override, half a character.
    """
    if len(name) > limit:
        half = limit // 2
        name = f"{name[:half]}...{name[-half:]}"
    return f"'{one_line(name)}'"


def one_line(text: str) -> str:
    """The string with everything that does not print escaped, so that it stays in one line and moves no cursor."""
    return "".join(c if c.isprintable() else _escape(ord(c)) for c in text)


def _escape(code: int) -> str:
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
