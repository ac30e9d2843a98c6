"""The line model that the pictures are laid out in: a line is a list of runs, a run is text in one style."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ._text import width


class Run(NamedTuple):
    """Text in one style: plain "", dim, faint, bold, warn; cell, with its weight as the colour behind it, less, the
    same of so much below zero; bar and full, with the weight as their own colour; minus, a bar of what is below zero."""

    text: str
    style: str = ""
    weight: float = 0.0


# no line of Chinese or Japanese begins with the first or ends with the second (JIS X 4051, GB/T 15834)
_CLOSING = ",.;:?!)%\u3001\u3002\uff0c\uff1b\uff1a\uff1f\uff01\uff09\u300b\u300d\u300f\u3011\u2019\u201d\u2026\uff05"
_OPENING = "(\uff08\u300a\u300c\u300e\u3010\u2018\u201c"

Line = list[Run]
Block = list[Line]


def cells(line: Iterable[Run]) -> int:
    """Width of a line in terminal cells."""
    return sum(width(run.text) for run in line)


def left(text: str, size: int) -> str:
    """Text padded on its right."""
    return text + " " * (size - width(text))


def right(text: str, size: int) -> str:
    """Text padded on its left."""
    return " " * (size - width(text)) + text


def beside(blocks: Sequence[Block], block_width: int, gap: int) -> Block:
    """Blocks of one width side by side, their first lines level."""
    lines: Block = []
    for i in range(max(len(block) for block in blocks)):
        line: Line = []
        for block in blocks:
            part = block[i] if i < len(block) else []
            if line:
                line.append(Run(" " * gap))
            line += [*part, Run(" " * max(0, block_width - cells(part)))]
        lines.append(line)
    return lines


def trimmed(line: Line) -> Line:
    """The line without blanks at its end, coloured cells excepted."""
    line = list(line)
    while line and line[-1].style not in ("cell", "full"):
        text = line[-1].text.rstrip(" ")
        if text:
            line[-1] = line[-1]._replace(text=text)
            break
        line.pop()
    return line


def flow(parts: Iterable[Line], size: int, gap: str = "  ", indent: int = 0) -> Block:
    """Parts one after another, a new line where the next does not fit; one too long is broken at spaces."""
    lines: Block = []
    line: Line = []
    for part in parts:
        if line and cells(line) + len(gap) + cells(part) <= size:
            line += [Run(gap), *part]
            continue
        if line:
            lines.append(line)
        *full, line = _broken(([Run(" " * indent)] if lines and indent else []) + part, size, indent)
        lines += full
    return [*lines, line] if line else lines


def _broken(part: Line, size: int, indent: int) -> Block:
    """One part in lines of at most `size`, broken at spaces, or anywhere in a word longer than a line."""
    if cells(part) <= size:
        return [part]
    lines: Block = [[]]
    used = 0
    for run in part:
        for word in _words(run.text, size - indent):
            if used + width(word.rstrip(" ")) > size:
                lines.append([Run(" " * indent)] if indent else [])
                used = indent
                word = word.lstrip(" ")
            lines[-1].append(run._replace(text=word))
            used += width(word)
    return [trimmed(line) for line in lines]


def _apart(before: str, after: str) -> bool:
    """Whether a line may end between two characters that no space parts: at a wide one, but not at any mark."""
    if before in _OPENING or after in _CLOSING or before == "\u200d":
        return False
    return width(before) > 1 or width(after) > 1


def _words(text: str, size: int) -> list[str]:
    """Words with the spaces after them; a line may also break after a wide character, or within a word over `size`."""
    words: list[str] = []
    word, used = "", 0
    for char in text:
        wide = width(char)
        ends = word[-1:] == " " != char or (word != "" and wide > 0 and _apart(word[-1], char))
        if word and (ends or used + wide > size):
            words.append(word)
            word, used = "", 0
        word += char
        used += wide
    return [*words, word] if word else words
