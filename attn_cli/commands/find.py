"""`find`: which heads look from here to there, every head of the model ranked by that weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from attn_cli.collect.rows import Address, Received, Rows
from attn_cli.commands import _measures
from attn_cli.commands._notes import notes
from attn_cli.commands._reading import read
from attn_cli.commands.show import Progress, Request, addressed, axis, describe, token_list
from attn_cli.errors import UsageError
from attn_cli.model import views
from attn_cli.model.folds import FOLDED
from attn_cli.report import Column, Positions, Report, Table
from attn_cli.select import parse_tokens

if TYPE_CHECKING:
    from attn_cli.model import Model
    from attn_cli.model.block import Selections
    from attn_cli.tokens import Tokens

SCHEMA = "attn-cli.find/1"


@dataclass(frozen=True, kw_only=True)
class Side:
    """The tokens of one side as they are viewed, and the places that the address names."""

    tokens: views.Merged
    places: tuple[tuple[int, ...], ...]  # groups of viewed tokens; none where no address was given
    special: tuple[int, ...]

    def name(self, place: Sequence[int]) -> str:
        """What a place is called: its text, with the position where the text stands more than once."""
        text = "".join(self._text(i) for i in place) + ("?" if any(self.tokens.unknown[i] for i in place) else "")
        repeated = any(axis(self.tokens, place).repeated) and len(place) == 1
        return f"{text}@{self.tokens.members[place[0]][0]}" if repeated else text

    def text(self, place: Sequence[int]) -> str:
        """The text of a place as it stands."""
        return "".join(self.tokens.texts[i] for i in place)

    def positions(self, place: Sequence[int]) -> Positions:
        """The positions in the text."""
        found = tuple(p for i in place for p in self.tokens.members[i])
        return found[0] if len(found) == 1 else found

    def _text(self, i: int) -> str:
        return self.tokens.texts[i] or '""'


def find(model: Model, text: str, request: Request, progress: Progress, *, version: str = "") -> Report:
    """Ranks all chosen heads by the weight of --query on --key, by what --key receives, or by the strongest key of --query."""
    if request.query is None and request.key is None:
        raise UsageError(
            "find what?", "name the token that looks, the token that is looked at, or both: --query it --key cat"
        )
    if request.measure == "flow" and request.query is None:
        raise UsageError("--measure flow is worked out row by row and takes long", "name a row: --query it")
    tokens = read(model, text, request)
    _measures.check_merge(tokens, request.merge)
    sides = _sides(model, tokens, request)
    selections = _selections(model, tuple(sides), request)
    rows = Rows({kind: queries.places for kind, (queries, _) in sides.items()})
    received = Received(
        {kind: keys.places for kind, (_, keys) in sides.items()},
        {kind: queries.special for kind, (queries, _) in sides.items()} if request.hide_special else None,
    )
    wanted = {kind: [p for g in q.places for i in g for p in q.tokens.members[i]] for kind, (q, _) in sides.items()}
    for block in _measures.stream(model, tokens, selections, request, wanted, progress=progress):
        (received if request.query is None else rows).add(block)
    names = {kind: {a: _name(request, s, *a) for a in _addresses(s)} for kind, s in selections.items()}
    table = _received(received, sides, names, request) if request.query is None else _looks(rows, sides, names, request)
    return Report(
        schema=SCHEMA,
        version=version,
        text=tokens.text,
        pair=tokens.pair,
        target=request.target,
        model=describe(model),
        title=model.title,
        measure=_measures.describe(request.measure, request.folding),
        merge=_measures.merge_name(request),
        hidden=tuple(i for i, s in enumerate(tokens.special) if s) if request.hide_special else (),
        tokens=token_list(tokens),
        target_tokens=None if tokens.target is None else token_list(tokens.target),
        tables=(table,),
        notes=tuple(notes(model, tokens, request)),
        fields={"query": request.query, "key": request.key},
    )


def _sides(model: Model, tokens: Tokens, request: Request) -> Mapping[str, tuple[Side, Side]]:
    """Queries and keys of each kind of attention that has the tokens asked for."""
    every = tuple(model.kinds)
    if request.kind not in (None, "all", *every):
        raise UsageError(f"this model has no {request.kind} attention", f"it has {', '.join(every)}")
    kinds = every if request.kind in (None, "all") else (str(request.kind),)
    if request.measure in _measures.WITHOUT_HEADS:
        kinds = tuple(k for k in kinds if k != "cross") or kinds
    target = tokens if tokens.target is None else tokens.target
    sides, lacking = {}, None
    for kind in kinds:
        rows = target if kind in ("decoder", "cross") else tokens
        columns = target if kind == "decoder" else tokens
        try:
            sides[kind] = _side(rows, request, request.query, "--query"), _side(columns, request, request.key, "--key")
        except UsageError as error:
            lacking = lacking or error
    if not sides and lacking is not None:
        raise lacking
    return sides


def _side(tokens: Tokens, request: Request, address: str | None, option: str) -> Side:
    groups = _measures.groups(tokens, request)
    viewed = views.merged(tokens, groups)
    of = {p: i for i, g in enumerate(groups) for p in g}
    matches = () if address is None else parse_tokens(address, tokens, option)
    places = tuple(dict.fromkeys(tuple(dict.fromkeys(of[p] for p in match.positions)) for match in matches))
    return Side(tokens=viewed, places=places, special=tuple(i for i, s in enumerate(viewed.special) if s))


def _selections(model: Model, kinds: tuple[str, ...], request: Request) -> Selections:
    if request.measure in _measures.WITHOUT_HEADS:
        every = request.layer is None and request.measure == "rollout"
        return _measures.whole_layers(model, kinds, replace(request, layer="all") if every else request)
    return addressed(model, kinds, request)


Names = Mapping[str, Mapping[tuple[int, int], str]]


def _addresses(selection: Mapping[int, Sequence[int]]) -> list[tuple[int, int]]:
    """The (layer, head) of every block there may be, folded ones included."""
    layers, heads = [*selection, FOLDED], {h for s in selection.values() for h in (*s, FOLDED)}
    return [(layer, head) for layer in layers for head in heads]


def _name(request: Request, selection: Mapping[int, Sequence[int]], layer: int, head: int) -> str:
    plain = layer != FOLDED and head != FOLDED
    if request.folding is not None and layer == FOLDED and "layers" not in request.folding.over:
        return ""
    folded = "" if plain else _measures.folded_name(request, selection, layer, head)
    return folded or f"L{layer}.H{head}"


def _head(address: Address, names: Names) -> dict[str, Any]:
    kind, layer, head = address
    return {
        "name": names[kind][layer, head],
        "kind": kind,
        "layer": None if layer == FOLDED else layer,
        "head": None if head == FOLDED else head,
    }


def _looks(rows: Rows, sides: Mapping[str, tuple[Side, Side]], names: Names, request: Request) -> Table:
    """A row for each head, query and key: the weight, its rank among all keys, and the strongest other key."""
    found = []
    for address, g, row, seen in rows.found():
        queries, keys = sides[address[0]]
        allowed = seen.copy()
        if request.hide_special:
            allowed[list(keys.special)] = False
        order = [int(k) for k in np.argsort(np.where(allowed, -row, np.inf), kind="stable") if allowed[k]]
        for place in keys.places if request.key is not None else [(k,) for k in order[:1]]:
            if not seen[list(place)].any():
                continue
            weight = float(row[list(place)].sum())
            others = [k for k in order if k not in place]
            other = others[0] if others else None
            found.append({
                **_head(address, names),
                **_place("query", queries, queries.places[g]), **_place("key", keys, place),
                "weight": np.float32(weight), "rank": 1 + sum(float(row[k]) > weight for k in others),
                **_place("other", keys, () if other is None else (other,)),
                "other_weight": None if other is None else np.float32(row[other]),
            })  # fmt: skip
    if not found:
        raise UsageError(
            f"no query may look at {request.key}: the model is causal, or its window is short", "swap --query and --key"
        )
    found.sort(key=lambda r: -r["weight"])
    several = {n: len({r[n + "_name"] for r in found}) > 1 for n in ("query", "key")}
    looks = request.query if several["query"] else found[0]["query_name"]
    at = (request.key or "") if several["key"] else found[0]["key_name"]
    columns = (
        *_head_columns(found),
        *_place_columns("query", "looks", pictured=several["query"]),
        *_place_columns("key", "at", pictured=several["key"]),
        Column(name="weight", title="per cent", kind="percent", bar=True),
        Column(name="rank", title="rank", kind="count"),
        *_place_columns("other", "strongest other", pictured=True),
        Column(name="other_weight", title="", kind="percent", bar=True),
    )
    return _made(f"{looks} looks at {at}".strip(), columns, found, request)


def _received(received: Received, sides: Mapping[str, tuple[Side, Side]], names: Names, request: Request) -> Table:
    """A row for each head and key: the mean weight it gets, against equal weights, and who looks most."""
    found = []
    for address, g, share in received.found():
        queries, keys = sides[address[0]]
        found.append({
            **_head(address, names), **_place("key", keys, keys.places[g]),
            "received": np.float32(share.mean), "baseline": np.float32(share.baseline), "queries": share.queries,
            **_place("query", queries, (share.strongest,)), "weight": np.float32(share.weight),
        })  # fmt: skip
    if not found:
        raise UsageError("no other token may look at it", "name another --key")
    found.sort(key=lambda r: -r["received"])
    several = len({r["key_name"] for r in found}) > 1
    columns = (
        *_head_columns(found),
        *_place_columns("key", "key", pictured=several),
        Column(name="received", title="received", kind="percent", bar=True),
        Column(name="baseline", title="baseline", kind="percent"),
        Column(name="queries", title="queries", kind="count"),
        *_place_columns("query", "looks most", pictured=True),
        Column(name="weight", title="", kind="percent", bar=True),
    )
    return _made(f"who looks at {request.key if several else found[0]['key_name']}", columns, found, request)


def _made(title: str, columns: tuple[Column, ...], found: Sequence[Mapping[str, Any]], request: Request) -> Table:
    rows = tuple(tuple(row[column.name] for column in columns) for row in found)
    return Table(name="heads", title=title, columns=columns, rows=rows, limit=request.top, note=_said(request))


def _head_columns(found: Sequence[Mapping[str, Any]]) -> tuple[Column, ...]:
    kinds = {row["kind"] for row in found}
    return (
        Column(name="name", title="head"),
        Column(name="kind", title="kind", pictured=len(kinds) > 1),
        Column(name="layer", title="layer", kind="count", pictured=False),
        Column(name="head", title="head", kind="count", pictured=False),
    )


def _place(name: str, side: Side, place: Sequence[int]) -> dict[str, Any]:
    if not place:
        return {name: None, f"{name}_text": None, f"{name}_name": None}
    return {name: side.positions(place), f"{name}_text": side.text(place), f"{name}_name": side.name(place)}


def _place_columns(name: str, title: str, *, pictured: bool) -> tuple[Column, ...]:
    return (
        Column(name=name, title=title, pictured=False),
        Column(name=f"{name}_text", title=title, pictured=False),
        Column(name=f"{name}_name", title=title, pictured=pictured),
    )


def _said(request: Request) -> str:
    """What the numbers are."""
    said = f"per cent: {_measures.describe(request.measure, request.folding)}"
    if request.query is None:
        return f"{said}; received: mean over all other tokens that may look; baseline: the same of equal weights"
    return f"{said}; of a word in pieces keys are summed, queries averaged"
