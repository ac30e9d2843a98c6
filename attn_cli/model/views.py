"""Other ways to look at the same stream: generators from blocks to blocks, each with tokens of its own.

Words: keys of a word are summed, queries averaged (Clark 2019, arXiv 1906.04341, section 4.1), so rows still sum to one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np

from attn_cli.model.block import Block
from attn_cli.tokens import Tokens

Groups = Sequence[tuple[int, ...]]


@dataclass(frozen=True)
class Merged(Tokens):
    """Tokens of which each stands for one or more of the text's: `members` are their positions there."""

    members: tuple[tuple[int, ...], ...] = ()


def members(tokens: Tokens) -> tuple[tuple[int, ...], ...]:
    """The positions in the text that each token stands for."""
    return tokens.members if isinstance(tokens, Merged) else tuple((i,) for i in range(len(tokens)))


def merged(tokens: Tokens, groups: Groups) -> Merged:
    """Tokens with each group, a run of neighbours, as one."""
    heads = [g[0] for g in groups]

    def text(group: tuple[int, ...]) -> str:
        first, last = tokens.spans[group[0]], tokens.spans[group[-1]]
        if len(group) > 1 and first and last and tokens.text is not None and first[0] < last[1]:
            whole = tokens.pair if tokens.segments[group[0]] and tokens.pair is not None else tokens.text
            return whole[first[0] : last[1]].strip(" ")
        return "".join(tokens.texts[i] for i in group)

    def span(group: tuple[int, ...]) -> tuple[int, int] | None:
        first, last = tokens.spans[group[0]], tokens.spans[group[-1]]
        return None if first is None or last is None else (first[0], last[1])

    return Merged(
        text=tokens.text,
        pair=tokens.pair,
        ids=(),
        pieces=tuple("".join(tokens.pieces[i] for i in g) for g in groups),
        texts=tuple(text(g) for g in groups),
        spans=tuple(span(g) for g in groups),
        words=tuple(tokens.words[i] for i in heads),
        special=tuple(tokens.special[i] for i in heads),
        segments=tuple(tokens.segments[i] for i in heads),
        unknown=tuple(any(tokens.unknown[i] for i in g) for g in groups),
        members=tuple(groups),
    )


def word_groups(tokens: Tokens) -> Groups:
    """The runs of tokens that are one word; a special token, and whatever is no word, stands alone."""
    groups: list[list[int]] = []
    for i, goes_on in enumerate(tokens.continues):
        if goes_on:
            groups[-1].append(i)
        else:
            groups.append([i])
    return [tuple(g) for g in groups]


def merge(blocks: Iterable[Block], groups: Groups, key_groups: Groups | None = None) -> Iterator[Block]:
    """Blocks whose queries and keys are `groups`, which cover the text in order; a group cut by a slice waits for its rest.

    `key_groups`: of the keys' text, where that is another one.
    """
    key_groups = groups if key_groups is None else key_groups
    starts = np.array([g[0] for g in groups])
    sizes = np.array([len(g) for g in groups])
    of = np.repeat(np.arange(len(groups)), sizes)  # token -> group
    key_starts = np.array([g[0] for g in key_groups])
    key_of = np.repeat(np.arange(len(key_groups)), [len(g) for g in key_groups])
    tokens: Merged | None = None
    key_tokens: Merged | None = None
    source: Tokens | None = None
    waiting: np.ndarray | None = None  # sum of the rows so far of a group that is not complete
    for block in blocks:
        if source is not block.query_tokens or tokens is None or key_tokens is None:
            source, tokens = block.query_tokens, merged(block.query_tokens, groups)
            same = block.key_tokens is block.query_tokens
            key_tokens = tokens if same else merged(block.key_tokens, key_groups)
        attn, keys = _sum_keys(block, key_starts, key_of)
        first, last = int(of[block.queries.start]), int(of[block.queries.stop - 1])
        complete = block.queries.stop == starts[last] + sizes[last]
        rows = np.add.reduceat(attn, np.maximum(starts[first : last + 1] - block.queries.start, 0), axis=1)
        if waiting is not None:
            rows[:, 0, : waiting.shape[-1]] += waiting
        waiting = None if complete else rows[:, -1].copy()
        stop = last + complete
        if stop == first:
            continue
        rows = rows[:, : stop - first] / sizes[first:stop, None].astype(rows.dtype)
        rows.flags.writeable = False
        yield replace(
            block,
            queries=range(first, stop),
            keys=keys,
            query_tokens=tokens,
            key_tokens=key_tokens,
            attn=rows,
            _mask=_merged_mask(block, starts, key_starts, first, stop, keys),
            _value_norm=_no_value_norm,
        )


def _sum_keys(block: Block, starts: np.ndarray, of: np.ndarray) -> tuple[np.ndarray, range]:
    first, last = int(of[block.keys.start]), int(of[block.keys.stop - 1])
    cuts = np.maximum(starts[first : last + 1] - block.keys.start, 0)
    return np.add.reduceat(block.attn, cuts, axis=2), range(first, last + 1)


def _merged_mask(
    block: Block, starts: np.ndarray, key_starts: np.ndarray, first: int, stop: int, keys: range
) -> Callable[[], np.ndarray | None]:
    """A merged key is hidden from a merged query when all of it is hidden from all rows of the query in this slice."""

    def hidden() -> np.ndarray | None:
        seen = np.logical_or.reduceat(
            block.mask, np.maximum(key_starts[keys.start : keys.stop] - block.keys.start, 0), axis=1
        )
        rows = np.maximum(starts[first:stop] - block.queries.start, 0)
        return ~np.logical_or.reduceat(seen, rows, axis=0)[: stop - first]

    return hidden


def _no_value_norm() -> NoReturn:
    raise ValueError("value norms belong to single tokens: take them before tokens are merged")
