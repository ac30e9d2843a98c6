"""`compare`: what changes between two sentences, two models or two heads, the most changed heads first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from attn_cli.collect.divergence import jensen_shannon
from attn_cli.commands import _measures
from attn_cli.commands._align import Pair, align, by_words, gather
from attn_cli.commands._changes import Address, Change, Places, by_query, table
from attn_cli.commands._notes import notes
from attn_cli.commands._reading import read
from attn_cli.commands.show import Progress, Request, addressed, describe, token_list
from attn_cli.errors import UsageError, quote
from attn_cli.model.folds import without_special
from attn_cli.report import Difference, Note, Report
from attn_cli.select import parse_tokens

if TYPE_CHECKING:
    from attn_cli.model import Model
    from attn_cli.model.block import Block, Selections
    from attn_cli.tokens import Tokens

SCHEMA = "attn-cli.compare/1"
SAME = 0.0005  # a change of weight that a table would not show
FEW = 4  # so many chosen heads have their difference drawn


@dataclass(frozen=True, kw_only=True)
class CompareRequest:
    """What was asked for, in the words of the command line."""

    base: Request = field(default_factory=Request)
    other_text: str | None = None
    other_head: str | None = None
    everything: bool = False  # differences of all chosen heads, for programs


def compare(
    model: Model, other: Model, text: str, asked: CompareRequest, progress: Progress, *, version: str = ""
) -> Report:
    """Runs both sides layer by layer, and reports the heads by how much their rows changed."""
    base = asked.base
    if base.measure in _measures.WITHOUT_HEADS or base.folding is not None:
        raise UsageError("compare is of single heads", "leave out --measure rollout and flow, --mean and --max")
    if base.words or base.merge:
        raise UsageError("compare aligns tokens itself", "leave out --words and --merge")
    tokens = read(model, text, base)
    second = text if asked.other_text is None else asked.other_text
    others = read(other, second, base, "other text")
    places = _places(model, tokens, others, base)
    lacking = ""
    if asked.other_head is not None:
        changes = _two_heads(model, tokens, places, asked)
        names = {address: f"{base.head} to {asked.other_head}" for address in changes}
    else:
        selections, lacking = _selections(model, other, tuple(places), base)
        total = sum(len(heads) for s in selections.values() for heads in s.values())
        changes = dict(progress(_both((model, tokens), (other, others), selections, places, base), total))
        names = {a: f"L{a[1]}.H{a[2]}" for a in changes}
    heads, moved = table(changes, places, names, base)
    same = all(np.abs(c.after - c.before).max(initial=0) < SAME for c in changes.values())
    if same:
        heads, said = replace(heads, pictured=False), [Note(text="no difference: all compared weights are the same")]
    else:
        said = [*_said(base, asked.other_head, moved, len(changes)), *(_apart(places) if second != text else ())]
    said = [*([Note(text=f"against: {second}")] if second != text else []), *said]
    said += [Note(text=lacking)] if lacking else []
    if base.hide_special:
        said.append(Note(text=_measures.WITHOUT_SPECIAL))
    if other is not model:
        said += [replace(note, text=f"{other.source}: {note.text}") for note in notes(other, others, base)]
    return Report(
        schema=SCHEMA,
        version=version,
        text=tokens.text,
        pair=tokens.pair,
        target=base.target,
        model=describe(model),
        title=model.title if other is model else f"{model.title} against {other.title}",
        measure=_measures.describe(base.measure),
        hidden=tuple(i for i, s in enumerate(tokens.special) if s) if base.hide_special else (),
        renormalised=base.hide_special,
        tokens=token_list(tokens),
        target_tokens=None if tokens.target is None else token_list(tokens.target),
        tables=(heads, *(by_query(changes, places, pictured=not same) if asked.other_head is not None else ())),
        differences=_differences(changes, places, names, asked) if asked.everything or not same else (),
        notes=(*said, *notes(model, tokens, base)),
        fields={
            "query": base.query,
            "key": base.key,
            "other": {
                "text": others.text,
                "model": describe(other),
                "head": asked.other_head,
                "tokens": [{"position": i, "text": text} for i, text in enumerate(others.texts)],
            },
            "aligned": [
                {"kind": kind, "before": pair.before, "after": pair.after, "same": pair.same}
                for kind, at in places.items()
                for pair in at.pairs
            ],
        },
    )


def _differences(
    changes: Mapping[Address, Change], places: Mapping[str, Places], names: Mapping[Address, str], asked: CompareRequest
) -> tuple[Difference, ...]:
    """The signed changes of the heads that were named, where there are few, or the output is for programs."""
    if asked.base.head is None or (len(changes) > FEW and not asked.everything):
        return ()
    return tuple(
        Difference(
            kind=kind,
            layer=layer,
            head=head,
            title=names[kind, layer, head],
            queries=places[kind].axis(places[kind].queries),
            keys=places[kind].axis(range(len(places[kind].pairs))),
            change=change.after - change.before,
        )
        for (kind, layer, head), change in changes.items()
    )


def _places(model: Model, tokens: Tokens, others: Tokens, base: Request) -> Mapping[str, Places]:
    """The aligned tokens of every kind of self-attention; cross-attention has two texts on each side already."""
    every = tuple(k for k in model.kinds if k != "cross")
    if base.kind not in (None, "all", *every):
        raise UsageError(f"compare knows no {base.kind} attention of this model", f"it compares {', '.join(every)}")
    kinds = every if base.kind in (None, "all") else (str(base.kind),)
    found, lacking = {}, None
    for kind in kinds:
        a, b = (t.target if kind == "decoder" and t.target is not None else t for t in (tokens, others))
        same_text = a.text == b.text and a.pair == b.pair
        pairs = by_words(a, b) if same_text and a.pieces != b.pieces else align(a, b)
        try:
            found[kind] = _chosen(pairs, a, b, base)
        except UsageError as error:
            lacking = lacking or error
    if not found and lacking is not None:
        raise lacking
    return found


def _chosen(pairs: tuple[Pair, ...], before: Tokens, after: Tokens, base: Request) -> Places:
    """The places that --query and --key name, in the one text or the other."""

    def named(address: str | None, option: str, default: list[int]) -> list[int]:
        if address is None:
            return default
        wanted: set[int] = set()
        for part in address.split(","):
            found: set[int] = set()
            lacking: UsageError | None = None
            by_place = "@" in part or part.strip().lstrip("-")[:1].isdigit()  # positions are those of the first text
            for tokens, side in ((before, "before"), (after, "after"))[: 1 if by_place else 2]:
                try:
                    at = {p for m in parse_tokens(part, tokens, option) for p in m.positions}
                except UsageError as error:
                    lacking = lacking or error
                    continue
                found |= {i for i, pair in enumerate(pairs) if at & set(getattr(pair, side))}
            if not found and lacking is not None:
                raise lacking
            wanted |= found
        return sorted(wanted)

    both = [i for i, pair in enumerate(pairs) if pair.both]
    queries = [i for i in named(base.query, "--query", both) if pairs[i].both]
    if not queries:
        raise UsageError(
            f"--query {quote(base.query or '')} stands in one of the two texts only", "name a token of both"
        )
    plain = [
        i for i, pair in enumerate(pairs)
        if all(t.special[p] is None for t, side in ((before, pair.before), (after, pair.after)) for p in side)
    ]  # fmt: skip
    return Places(
        pairs=pairs, before=before, after=after, queries=queries, keys=named(base.key, "--key", []),
        plain=plain or list(range(len(pairs))),
    )  # fmt: skip


def _selections(model: Model, other: Model, kinds: tuple[str, ...], base: Request) -> tuple[Selections, str]:
    """The heads that both models have, and a word about those that only one has."""
    selections = addressed(model, kinds, base)
    if other is model:
        return selections, ""
    shared: dict[str, dict[int, tuple[int, ...]]] = {}
    for kind, selection in selections.items():
        there = other.selections(None).get(kind)
        if there is None:
            raise UsageError(f"{quote(other.source)} has no {kind} attention", "compare models of one kind")
        shared[kind] = {
            layer: tuple(h for h in heads if h in there[layer]) for layer, heads in selection.items() if layer in there
        }
    n, of = (sum(len(h) for s in some.values() for h in s.values()) for some in (shared, selections))
    if not n:
        raise UsageError("the two models have no such head in common", "choose heads that both have")
    sizes = [" and ".join(f"{s.n_layers} x {s.n_heads}" for s in m.kinds.values()) for m in (model, other)]
    return shared, "" if sizes[0] == sizes[1] else (
        f"{n} of {of} heads compared, those with the same numbers in both models ({sizes[0]} and {sizes[1]} heads); "
        "the same number need not mean the same job"
    )


def _both(
    one: tuple[Model, Tokens],
    two: tuple[Model, Tokens],
    selections: Selections,
    places: Mapping[str, Places],
    base: Request,
) -> Iterator[tuple[Address, Change]]:
    """The change of every head, both sides run in step, so that one layer of each is held at a time."""
    sides = [_layers(_stream(model, tokens, selections, base)) for model, tokens in (one, two)]
    for (kind, layer, heads, a), (_, _, _, b) in zip(*sides, strict=True):
        found = _change(a, b, places[kind])
        for i, head in enumerate(heads):
            yield (
                (kind, layer, head),
                Change(before=found.before[i], after=found.after[i], divergence=found.divergence[i]),
            )


def _stream(model: Model, tokens: Tokens, selections: Selections, base: Request) -> Iterator[Block]:
    blocks = _measures.stream(model, tokens, selections, base)
    return without_special(blocks) if base.hide_special else blocks


def _layers(blocks: Iterable[Block]) -> Iterator[tuple[str, int, tuple[int, ...], np.ndarray]]:
    """Whole layers: kind, layer, heads, (heads, queries, keys)."""
    for (kind, layer), group in groupby(blocks, key=lambda b: (b.kind, b.layer)):
        whole: np.ndarray | None = None
        heads: tuple[int, ...] = ()
        for block in group:
            if whole is None:
                heads = block.heads
                whole = np.zeros((len(heads), len(block.query_tokens), len(block.key_tokens)), block.attn.dtype)
            whole[:, block.queries.start : block.queries.stop, block.keys.start : block.keys.stop] = np.nan_to_num(
                block.attn
            )
        if whole is not None:
            yield kind, layer, heads, whole


def _change(a: np.ndarray, b: np.ndarray, places: Places) -> Change:
    rows = [places.pairs[i] for i in places.queries]
    before = gather(a, [p.before for p in places.pairs], [p.before for p in rows])
    after = gather(b, [p.after for p in places.pairs], [p.after for p in rows])
    return Change(before=before, after=after, divergence=jensen_shannon(before, after))


def _two_heads(
    model: Model, tokens: Tokens, places: Mapping[str, Places], asked: CompareRequest
) -> dict[Address, Change]:
    """The one change between --head and --other-head."""
    found: dict[Address, Change] = {}
    for kind in places:
        both = [addressed(model, (kind,), replace(asked.base, head=h, layer=asked.base.layer if i == 0 else None))[kind]
                for i, h in enumerate((asked.base.head, asked.other_head))]  # fmt: skip
        if any(sum(len(heads) for heads in s.values()) != 1 for s in both):
            raise UsageError(
                "--head and --other-head must name one head each", "for example --head 3.1 --other-head 4.0"
            )
        ends = [next((layer, heads[0]) for layer, heads in s.items()) for s in both]
        union = {layer: tuple(sorted({h for at, h in ends if at == layer})) for layer in sorted({at for at, _ in ends})}
        whole = {
            (layer, head): attn[i : i + 1]
            for _, layer, heads, attn in _layers(_stream(model, tokens, {kind: union}, asked.base))
            for i, head in enumerate(heads)
        }
        change = _change(whole[ends[0]], whole[ends[1]], places[kind])
        found[kind, *ends[0]] = Change(before=change.before[0], after=change.after[0], divergence=change.divergence[0])
    return found


def _apart(places: Mapping[str, Places]) -> Iterator[Note]:
    """A warning where few tokens of two texts stand beside one of the other."""
    for at in places.values():
        plain = [at.pairs[i] for i in at.plain]
        beside = sum(len(pair.before) == len(pair.after) == 1 for pair in plain)
        fewer = min(sum(len(pair.before) for pair in plain), sum(len(pair.after) for pair in plain))
        if 2 * beside < fewer:
            text = f"these texts do not align well: {beside} of {fewer} tokens have a counterpart in the other"
            yield Note(text=f"{text}; what lies between is compared as one", kind="warning")
            return


def _said(base: Request, other_head: str | None, moved: int, total: int) -> Iterator[Note]:
    """What came of it, in a sentence."""
    if base.query is None or other_head is not None:
        return
    if base.key is None:
        what = "another token becomes the strongest key, special tokens left out"
    else:
        what = f"the strongest key of all turns from one of {base.key} to another"
    count = f"{moved or 'none'} of {total} head{'s' * (total != 1)}"
    yield Note(text=f"moved: in {count} {what}")
