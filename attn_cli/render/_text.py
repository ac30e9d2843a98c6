"""Makes any string safe and meaningful to show in one line, and measures and cuts it in terminal cells."""

from __future__ import annotations

import unicodedata

from rich.cells import cell_len, split_graphemes

_MARKS = {" ": "␣", "\n": "↵", "\t": "⇥", "\r": "␍"}
_ASCII_MARKS = {" ": r"\s", "\n": r"\n", "\t": r"\t", "\r": r"\r"}
_KEYCAPS = frozenset("0123456789#*")
_MAX_COMBINING = 4  # more marks on one letter would be drawn over the lines above and below


def visible(text: str, encoding: str | None = None) -> str:
    r"""The text in one line without a character that a terminal would act on, hide or reorder.

    Spaces show as `␣` where the text is nothing else or two stand together at an end; newline, tab and return
    as `↵ ⇥ ␍`; other control, format, bidirectional and zero-width characters and half surrogates as `\x1b`,
    `\u202e`. With an `encoding` whatever it does not hold is written as an escape too.
    """
    if text.isascii() and text.isprintable():
        shown = text
    else:
        shown = "".join(_shown(text, i, encoding) for i in range(len(text)))
        if encoding is None and shown and width(shown[0]) == 0:
            shown = "◌" + shown  # else a lone combining mark would sit on whatever stands before it
    marks = _MARKS if encoding is None else _ASCII_MARKS
    shown = _mark_spaces(text, shown, marks[" "])
    return shown if encoding is None or shown.isascii() else _encodable(shown, encoding)


def label(text: str, *, continues: bool = False, encoding: str | None = None) -> str:
    """How a token is called: without the space that joins it to its neighbour; `~` before a later piece."""
    if text.strip(" "):
        text = text.removeprefix(" ") if text[1:2] != " " else text
        text = text.removesuffix(" ") if text[-2:-1] != " " else text
    shown = visible(text, encoding) or '""'
    return "~" + shown if continues else shown


def width(text: str) -> int:
    """Terminal cells: 2 for CJK and emoji, 0 for combining marks, one emoji per joined sequence."""
    return len(text) if text.isascii() else cell_len(text)


def graphemes(text: str) -> list[str]:
    """The text in pieces that must not be torn apart: a letter with its marks, an emoji sequence."""
    if text.isascii():
        return list(text)
    pieces: list[str] = []
    for start, end, _ in split_graphemes(text)[0]:
        piece = text[start:end]
        if pieces and _is_flag_letter(piece) and len(pieces[-1]) == 1 and _is_flag_letter(pieces[-1]):
            pieces[-1] += piece
        else:
            pieces.append(piece)
    return pieces


def fit(text: str, cells: int, mark: str = "…") -> str:
    """The text within `cells`, its end replaced by `mark` where it is longer."""
    if width(text) <= cells:
        return text
    room = cells - width(mark)
    if room < 0:
        return ""
    kept, used = [], 0
    for piece in graphemes(text):
        used += width(piece)
        if used > room:
            break
        kept.append(piece)
    return "".join(kept) + mark


def clip(text: str, cells: int, mark: str = "…") -> str:
    """As `fit`; of a name in two halves, `before/after`, each keeps its beginning."""
    a, _, b = text.partition("/")
    if width(text) <= cells or not a or not b or "/" in b:
        return fit(text, cells, mark)
    half = min(width(a), max(cells // 2, cells - 1 - width(b)))
    return fit(a, half, mark) + "/" + fit(b, cells - 1 - half, mark)


def _is_flag_letter(piece: str) -> bool:
    return "\U0001f1e6" <= piece[0] <= "\U0001f1ff"


def _mark_spaces(text: str, shown: str, space: str) -> str:
    if text and not text.strip(" \t\r\n"):
        return shown.replace(" ", space)
    lead, trail = len(text) - len(text.lstrip(" ")), len(text) - len(text.rstrip(" "))
    if lead > 1:
        shown = space * lead + shown[lead:]
    if trail > 1:
        shown = shown[: len(shown) - trail] + space * trail
    return shown


def _shown(text: str, i: int, encoding: str | None) -> str:
    char = text[i]
    if char == " ":
        return char
    if char in _MARKS:
        return (_MARKS if encoding is None else _ASCII_MARKS)[char]
    code, category = ord(char), unicodedata.category(char)
    if category in ("Cc", "Cs", "Zs", "Zl", "Zp") or 0xE0000 <= code <= 0xE0FFF:
        return _escape(char)
    if category == "Cf":
        joins = char == "\u200d" and i > 0 and i + 1 < len(text) and _joinable(text[i - 1]) and _joinable(text[i + 1])
        return char if joins else _escape(char)
    if 0xFE00 <= code <= 0xFE0F:
        before = text[i - 1] if i else ""
        chosen = code >= 0xFE0E and before and (before in _KEYCAPS or unicodedata.category(before)[0] == "S")
        return char if chosen else _escape(char)
    if category in ("Mn", "Me"):
        run = text[max(0, i - _MAX_COMBINING) : i]
        crowded = len(run) == _MAX_COMBINING and all(unicodedata.category(c) in ("Mn", "Me") for c in run)
        return _escape(char) if crowded or code in (0x034F, 0x17B4, 0x17B5) else char
    if category == "Cn" and not (0x1F000 <= code <= 0x1FAFF or 0x20000 <= code <= 0x323AF):
        return _escape(char)  # not a character; newer emoji and ideographs than this Python knows are let through
    return _escape(char) if code in _BLANK else char


# Letters that draw nothing: Hangul fillers and the braille blank.
_BLANK = frozenset((0x115F, 0x1160, 0x3164, 0xFFA0, 0x2800))


def _joinable(char: str) -> bool:
    """Whether a zero-width joiner beside it makes an emoji sequence."""
    code = ord(char)
    return code == 0xFE0F or 0x2190 <= code <= 0x2BFF or 0x1F000 <= code <= 0x1FAFF


def _escape(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _encodable(text: str, encoding: str) -> str:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return "".join(char if _holds(char, encoding) else _escape(char) for char in text)
    except LookupError:
        return text.encode("ascii", "backslashreplace").decode("ascii")
    return text


def _holds(char: str, encoding: str) -> bool:
    try:
        char.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
