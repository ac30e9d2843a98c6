"""Addresses of layers, heads and tokens, as they are typed on the command line.

Layers and heads: `all`, `3`, `0-2,5`, `-1`; a head of a layer `3.1`, `L3.H1`, `all.1`, `3.all`. Tokens: a position `7` or `-1`,
a range `120-130`, a text `it`, one of several `it@7`, the text of a number `text:7`; commas join.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from attn_cli.errors import UsageError, quote
from attn_cli.tokens import Tokens

_RANGE = re.compile(r"(\d+)(?:-(\d+))?|-(\d+)")


def parse_heads(
    layer: str | None,
    head: str | None,
    there: Mapping[int, tuple[int, ...]],
    *,
    bare: Literal["head", "layer"] = "head",
    default: Sequence[int] | None = None,
) -> Mapping[int, tuple[int, ...]]:
    """Layer -> heads, both in rising order, among those that are `there`.

    `bare` says what a number without a dot is in `head`. Without a layer, plain head numbers are taken in the layers of
    `default` (every layer where that is None). UsageError for what does not exist, naming what does.
    """
    chosen: dict[int, set[int]] = {}
    layers = list(there if default is None else default)

    def add(text: str, layers: Sequence[int]) -> None:
        wanted = _numbers(text, sorted({h for i in layers for h in there[i]}), "head")
        for i in layers:
            chosen.setdefault(i, set()).update(h for h in wanted if h in there[i])

    if layer is not None:
        layers = sorted({i for part in _parts(layer, "--layer") for i in _numbers(part, list(there), "layer")})
    if head is None:
        return {i: there[i] for i in layers}
    for part in _parts(head, "--head"):
        address = part.lower().replace("l", "", 1) if part.lower().startswith("l") else part.lower()
        if "." in address:
            if layer is not None:
                raise UsageError(
                    f"--layer {quote(layer)} with --head {quote(part)}: the layer is named twice",
                    f"leave out --layer, or write --head {quote(part.split('.')[-1].lstrip('Hh'))}",
                )
            at, _, which = address.partition(".")
            add(which.removeprefix("h"), _numbers(at, list(there), "layer"))
        elif bare == "layer":
            add("all", _numbers(address, list(there), "layer"))
        else:
            add(address.removeprefix("h"), layers)
    return {i: tuple(sorted(chosen[i])) for i in sorted(chosen) if chosen[i]}


def ranges(numbers: Sequence[int]) -> str:
    """Rising numbers as they are typed: 0-2,5."""
    found: list[list[int]] = []
    for n in numbers:
        if found and found[-1][-1] == n - 1:
            found[-1].append(n)
        else:
            found.append([n])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in found)


def _parts(text: str, option: str) -> list[str]:
    parts = [p.strip() for p in text.split(",")]
    if not all(parts):
        raise UsageError(f"{option} {quote(text)}: an empty part", f"for example {option} 0-2,5")
    return parts


def _numbers(text: str, there: Sequence[int], what: str) -> list[int]:
    """The numbers that `all`, `3`, `0-2` or `-1` mean among those that are there, in rising order."""
    if text == "all":
        return list(there)
    match = _RANGE.fullmatch(text)
    if match is None or not text.isascii():
        raise UsageError(f"{quote(text)} is not a {what}", f"{what}s are written all, 3, 0-2 or -1")
    first, last, back = match.groups()
    if back is not None:
        at = len(there) - int(back[:9])
        start = end = there[at] if 0 <= at < len(there) else -1
    else:
        start, end = int(first[:9]), int((last or first)[:9])
    if start > end or start not in there or end not in there:
        run = f"{what}s run from {there[0]} to {there[-1]}"
        some = run if len(there) > there[-1] - there[0] else f"there are {what}s {ranges(there)}"
        raise UsageError(f"there is no {what} {text}", some if len(there) > 1 else f"there is only {what} {there[0]}")
    return [n for n in there if start <= n <= end]


@dataclass(frozen=True)
class Match:
    """One thing that a token address found: its positions, which belong together."""

    positions: tuple[int, ...]


def parse_tokens(text: str, tokens: Tokens, option: str = "--query") -> tuple[Match, ...]:
    """What a token address means in these tokens, in the order of the text; UsageError with the nearest pieces if nothing.

    A position or a range gives single tokens; a text gives each word or run of words that it equals, pieces together.
    """
    found: dict[tuple[int, ...], None] = {}
    parts = [","] if text.strip() == "," else [p for p in text.split(",") if p.strip()]
    if not parts:
        raise UsageError(f"{option} is empty", f"for example {option} it, or {option} 7")
    for part in parts:
        for positions in _matches(part.strip(), tokens, option):
            found[positions] = None
    return tuple(Match(p) for p in sorted(found))


def _matches(part: str, tokens: Tokens, option: str) -> list[tuple[int, ...]]:
    n = len(tokens)
    if match := _RANGE.fullmatch(part):
        first, last, back = match.groups()
        start, end = (n - int(back[:9]),) * 2 if back else (int(first[:9]), int((last or first)[:9]))
        if not 0 <= start <= end < n:
            raise UsageError(
                f"{option} {part}: there is no such position",
                f"positions run from 0 to {n - 1}; the text {part} is written text:{part}",
            )
        return [(i,) for i in range(start, end + 1)]
    wanted, _, at = part.rpartition("@")
    if part.startswith("text:"):
        return _named(part[5:], tokens, option)
    if wanted and at.isascii() and at.isdigit():
        one = [p for p in _named(wanted, tokens, option) if int(at[:9]) in p]
        if not one:
            where = ", ".join(str(p[0]) for p in _named(wanted, tokens, option))
            raise UsageError(f"{option} {quote(part)}: {quote(wanted)} does not stand at {at}", f"it stands at {where}")
        return one
    return _named(part, tokens, option)


def _named(name: str, tokens: Tokens, option: str) -> list[tuple[int, ...]]:
    """Every place where a text stands: whole words first, else single pieces; exact case wins.

    The piece that stands for whatever is not in the vocabulary finds all of that.
    """
    if any(lacks and piece == name for lacks, piece in zip(tokens.unknown, tokens.pieces, strict=True)):
        return [(i,) for i, piece in enumerate(tokens.pieces) if piece == name]
    for groups in (_runs(tokens), [(i,) for i in range(len(tokens))]):
        spelled = [(g, _spelling(g, tokens)) for g in groups]
        exact = [g for g, s in spelled if s == name]
        if exact:
            return exact
        folded = _fold(name)
        loose = [g for g, s in spelled if folded and _fold(s) == folded]
        if loose:
            return loose
    several = _several(name, tokens)
    if several:
        return several
    from difflib import get_close_matches

    words = [_spelling(g, tokens) for g in _runs(tokens) if tokens.special[g[0]] != "added"]
    there = {_fold(word): word for word in words}
    near = ", ".join(quote(there[word]) for word in get_close_matches(_fold(name), there, 4, 0.6))
    hint = f"nearest: {near}" if near else f"give a word of the text, or a position from 0 to {len(tokens) - 1}"
    raise UsageError(f"{option} {quote(name)} is not in the text", hint)


def _runs(tokens: Tokens) -> list[tuple[int, ...]]:
    """Positions grouped by word; a special token is a group of its own."""
    groups: list[list[int]] = []
    for i, goes_on in enumerate(tokens.continues):
        if goes_on:
            groups[-1].append(i)
        else:
            groups.append([i])
    return [tuple(g) for g in groups]


def _source(tokens: Tokens, i: int) -> str:
    return (tokens.pair if tokens.segments[i] and tokens.pair is not None else tokens.text) or ""


def _spelling(group: tuple[int, ...], tokens: Tokens) -> str:
    """The text of a group as the user wrote it, or as the pieces read where there is no text."""
    first, last = tokens.spans[group[0]], tokens.spans[group[-1]]
    if first is None or last is None or tokens.text is None or first[0] == last[1]:
        return "".join(tokens.texts[i] for i in group)
    return _source(tokens, group[0])[first[0] : last[1]].strip(" ") or tokens.texts[group[0]]


def _several(name: str, tokens: Tokens) -> list[tuple[int, ...]]:
    """Runs of tokens that together spell a name of several words, such as didn't or 'the street'."""
    folded = _fold(name)
    groups = [g for g in _runs(tokens) if tokens.spans[g[0]] is not None]
    found = []
    for i in range(len(groups)):
        spelled = ""
        for j in range(i, min(i + 12, len(groups))):
            if tokens.segments[groups[j][0]] != tokens.segments[groups[i][0]]:
                break
            spelled += _fold(_spelling(groups[j], tokens))
            if spelled == folded and folded:
                found.append(tuple(p for g in groups[i : j + 1] for p in g))
            if not folded.startswith(spelled):
                break
    return found


def _fold(text: str) -> str:
    return "".join(text.casefold().split())
