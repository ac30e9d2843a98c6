"""What changed, as a table: the aligned tokens, each head before and after, and the order of the heads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from attn_cli.commands import _measures
from attn_cli.commands._align import Pair
from attn_cli.commands.show import Request
from attn_cli.model import views
from attn_cli.report import Axis, Column, Positions, Table

if TYPE_CHECKING:
    from attn_cli.tokens import Tokens

Address = tuple[str, int, int]  # kind, layer, head


@dataclass(frozen=True, kw_only=True)
class Places:
    """The aligned tokens of one kind of attention, and those that were asked for."""

    pairs: tuple[Pair, ...]
    before: Tokens
    after: Tokens
    queries: list[int]  # indices into the pairs that both texts have
    keys: list[int]  # those of --key
    plain: list[int]  # candidates for the strongest key: no special tokens, unless there are no others

    def name(self, i: int) -> str:
        """What a place is called: its text, or both texts where they differ; its position where others have the same."""
        return self._names[i]

    @cached_property
    def _names(self) -> tuple[str, ...]:
        texts = ["/".join(dict.fromkeys(self._sides(i))) for i in range(len(self.pairs))]
        counts = Counter(text.casefold() for text in texts)
        return tuple(
            f"{text}@{(pair.before or pair.after)[0]}" if counts[text.casefold()] > 1 else text
            for text, pair in zip(texts, self.pairs, strict=True)
        )

    def _sides(self, i: int) -> tuple[str, str]:
        """What stands at a place in the one text and in the other, the same where only the tokenizers differ."""
        pair = self.pairs[i]
        a, b = (_name(tokens, side) for tokens, side in ((self.before, pair.before), (self.after, pair.after)))
        return (a, a) if pair.same else (a or "+", b or "-")

    def _split(self, i: int) -> tuple[str, str] | None:
        """The two halves of a name that has two."""
        a, b = self._sides(i)
        return None if a == b else (a, self.name(i)[len(a) + 1 :])

    def positions(self, i: int) -> list[Positions | None]:
        """The positions in the two texts."""
        sides = (self.pairs[i].before, self.pairs[i].after)
        return [None if not s else s[0] if len(s) == 1 else s for s in sides]

    def axis(self, chosen: Sequence[int]) -> Axis:
        """Rows or columns of a difference."""
        texts = tuple(self.name(i) for i in chosen)
        sides = [self.pairs[i].before or self.pairs[i].after for i in chosen]
        return Axis(
            positions=tuple(s[0] if len(s) == 1 else s for s in sides),
            texts=texts,
            special=tuple(
                (self.before if self.pairs[i].before else self.after).special[s[0]]
                for i, s in zip(chosen, sides, strict=True)
            ),
            continues=(False,) * len(texts),
            repeated=(False,) * len(texts),  # the names say it
            sides=tuple(self._split(i) for i in chosen),
            unknown=(False,) * len(texts),
        )


def _name(tokens: Tokens, side: tuple[int, ...]) -> str:
    if not side:
        return ""
    whole = views.merged(tokens, [side])
    return (whole.texts[0].strip(" ") or whole.texts[0]) + ("?" if whole.unknown[0] else "")


@dataclass(frozen=True, kw_only=True)
class Change:
    """One head before and after, over the aligned places."""

    before: np.ndarray  # (queries, places)
    after: np.ndarray
    divergence: np.ndarray  # (queries,) bits


def table(
    changes: Mapping[Address, Change],
    places: Mapping[str, Places],
    names: Mapping[Address, str],
    base: Request,
) -> tuple[Table, int]:
    """One row for each head: its divergence, and for the row that changed most its keys before and after."""
    named = base.key is not None
    rows = []
    for (kind, layer, head), c in changes.items():
        at = places[kind]
        known = ~np.isnan(c.divergence)
        most = int(np.nanargmax(c.divergence)) if known.any() else 0
        among = list(range(len(at.pairs))) if named else at.plain
        before, after = (among[int(np.argmax(side[most, among]))] for side in (c.before, c.after))
        rows.append({
            "name": names[kind, layer, head], "kind": kind, "layer": layer, "head": head,
            "divergence": np.float32(c.divergence[known].mean() if known.any() else np.nan),
            "query": at.positions(at.queries[most]), "query_name": at.name(at.queries[most]),
            "query_divergence": np.float32(c.divergence[most]),
            **_key("before", at, before, c, most), **_key("after", at, after, c, most),
            **{f"{at.name(k)}_{when}": np.float32(side[most, k])
               for k in at.keys for when, side in (("before", c.before), ("after", c.after))},
            "stronger": _stronger(at, c, most),
            "moved": before != after and (not named or {before, after} <= set(at.keys)),
            "change": float(np.abs(c.after[most, at.keys] - c.before[most, at.keys]).max(initial=0)),
        })  # fmt: skip
    rows.sort(key=lambda r: (not r["moved"], -r["change"]) if named else (-np.nan_to_num(r["divergence"], nan=-1.0),))
    at = next(iter(places.values()))
    one_query = all(len(p.queries) == 1 for p in places.values())
    columns = _columns(at, named=named, one_query=one_query, several=len({r["kind"] for r in rows}) > 1)
    return Table(
        name="heads",
        title=f"{at.name(at.queries[0])} looks at" if one_query else "",
        columns=columns,
        rows=tuple(tuple(r.get(c.name) for c in columns) for r in rows),
        limit=base.top,
        note="bits: Jensen-Shannon divergence of the rows, 0 the same, 1 nothing in common, mean over queries; "
        f"per cent before, then after: {_measures.describe(base.measure)}",
    ), sum(r["moved"] for r in rows)


def _columns(at: Places, *, named: bool, one_query: bool, several: bool) -> tuple[Column, ...]:
    """With keys asked for those, else the strongest key before and after."""
    keys = [
        Column(name=f"{at.name(k)}_{when}", title=title, kind="percent")
        for k in at.keys
        for when, title in (("before", f"{at.name(k)} was"), ("after", "is"))
    ]
    return (
        Column(name="name", title="head"),
        Column(name="kind", title="kind", pictured=several),
        Column(name="layer", title="layer", kind="count", pictured=False),
        Column(name="head", title="head", kind="count", pictured=False),
        Column(name="divergence", title="bits", kind="number", digits=2, bar=True),
        Column(name="query", title="query", pictured=False),
        Column(name="query_name", title="most in", pictured=not one_query, clips=True),
        Column(name="query_divergence", title="bits there", kind="number", digits=2, pictured=False),
        Column(name="moved", title="moved", kind="flag", spare=True),
        *keys,
        *([Column(name="stronger", title="stronger", clips=True)] if len(at.keys) > 1 else []),
        *_key_columns("before", "before", pictured=not named),
        *_key_columns("after", "after", pictured=not named),
    )


def _stronger(at: Places, change: Change, row: int) -> str | None:
    """Which of the keys asked for is the stronger one, before and after."""
    if len(at.keys) < 2:
        return None
    before, after = (at.name(at.keys[int(np.argmax(side[row, at.keys]))]) for side in (change.before, change.after))
    return before if before == after else f"{after} now"


def _key(side: str, at: Places, key: int, change: Change, row: int) -> dict[str, Any]:
    return {
        f"{side}_key": at.positions(key),
        f"{side}_name": at.name(key),
        f"{side}_weight": np.float32(change.before[row, key]),
        f"{side}_weight_then": np.float32(change.after[row, key]),
    }


def _key_columns(side: str, title: str, *, pictured: bool) -> tuple[Column, ...]:
    return (
        Column(name=f"{side}_key", title=title, pictured=False),
        Column(name=f"{side}_name", title=title, pictured=pictured, clips=True),
        Column(name=f"{side}_weight", title="was", kind="percent", pictured=pictured),
        Column(name=f"{side}_weight_then", title="is", kind="percent", pictured=pictured),
    )


def by_query(changes: Mapping[Address, Change], places: Mapping[str, Places], *, pictured: bool) -> tuple[Table, ...]:
    """For two heads: how much each query's row differs."""
    rows = []
    for (kind, _, _), c in changes.items():
        at = places[kind]
        rows += [(kind, at.positions(q)[0], at.name(q), np.float32(c.divergence[i])) for i, q in enumerate(at.queries)]
    columns = (
        Column(name="kind", title="kind", pictured=len(places) > 1),
        Column(name="query", title="query", pictured=False),
        Column(name="query_name", title="query", clips=True),
        Column(name="divergence", title="bits", kind="number", digits=2, bar=True),
    )
    return (Table(name="queries", title="row by row", columns=columns, rows=tuple(rows), pictured=pictured),)
