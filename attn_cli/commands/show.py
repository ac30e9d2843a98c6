"""`show`: what every head of a model attends to in one text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from attn_cli.collect.matrix import Matrix
from attn_cli.collect.top import Top as TopKeys
from attn_cli.commands import _measures, _pooled, _shown
from attn_cli.commands._notes import notes
from attn_cli.commands._ranking import Ranking
from attn_cli.commands._reading import read
from attn_cli.errors import UsageError
from attn_cli.model import views
from attn_cli.model.folds import FOLDED
from attn_cli.report import Axis, Head, Note, Positions, Report, Token, Top
from attn_cli.select import parse_heads, parse_tokens

if TYPE_CHECKING:
    from attn_cli.collect.blocks import Pooling
    from attn_cli.model import Model
    from attn_cli.model.block import Block, Selections
    from attn_cli.tokens import Tokens

SCHEMA = "attn-cli.show/1"
FEW_HEADS = 8  # a model with at most this many heads is shown whole
FOCUSED = 4  # of a larger one, this many heads of one layer
FEW_TOKENS = 40  # beyond this a matrix is no picture any more
FEW_QUERIES = 5  # up to this many named rows are drawn head by head, one table each


@dataclass(frozen=True, kw_only=True)
class Request:
    """What was asked for, in the words of the command line."""

    pair: str | None = None
    target: str | None = None
    kind: str | None = None  # encoder decoder cross, or all; None: what is worth seeing
    layer: str | None = None
    head: str | None = None
    query: str | None = None
    key: str | None = None
    top: int = 5
    every_key: bool = False  # all of so many are drawn, not those that fit in a line
    words: bool = False
    merge: str | None = None  # spans that stand as one token
    measure: str = "attn"  # attn norm rollout flow
    folding: _measures.Folding | None = None  # mean or largest over heads, layers
    hide_special: bool = False
    renormalise: bool = False
    literal: bool = False
    added: bool = True
    view: Literal["matrix", "top", "both"] | None = None
    pooling: Pooling = "mean"  # of the blocks that a long text's matrix is made of
    room: tuple[int, int] = (FEW_TOKENS, FEW_TOKENS)  # rows and columns of a matrix that fit
    everything: bool = False  # a format for programs: every head unless some are named
    as_computed: bool = False  # the report's heads come one by one while the model runs
    matrices: bool = True  # False: only the top keys


Progress = Callable[[Iterable[Any], int], Iterable[Any]]


def show(
    model: Model, text: str, request: Request, progress: Progress, *, version: str = "", number: int = 0
) -> Report:
    """Runs one text and reports the chosen heads; `number` is the text's place among several."""
    tokens = read(model, text, request)
    if request.measure == "flow" and request.query is None:
        raise UsageError("--measure flow is worked out row by row and takes long", "name a row: --query it")
    _measures.check_merge(tokens, request.merge)
    plans = _plans(model, tokens, request)
    selections, ranking = _choose(model, request, plans)
    heads: Iterable[Head] = _heads(model, tokens, selections, request, plans, progress, number, ranking)
    if ranking is not None:
        found = list(heads)
        selections = ranking.best(selections)
        heads = ranking.shown(found, selections)
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
        renormalised=request.renormalise,
        tokens=token_list(tokens),
        target_tokens=None if tokens.target is None else token_list(tokens.target),
        heads=heads if request.as_computed else list(heads),
        view=next(iter(plans.values())).view,
        every_key=request.every_key,
        shown=_shown.shown(model, selections, request, ranking is not None),
        notes=(*notes(model, tokens, request), *_left_out(plans.values())),
    )


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """Which rows and columns of the viewed tokens of one kind of attention, and how they are drawn."""

    groups: views.Groups  # of the queries' tokens
    viewed: views.Merged
    key_groups: views.Groups
    viewed_keys: views.Merged
    queries: list[int]
    keys: list[int]
    view: Literal["matrix", "top", "both", "query"]
    left_out: int  # queries beyond those shown
    size: tuple[int, int]  # queries and keys that make one row and one column


def _plans(model: Model, tokens: Tokens, request: Request) -> Mapping[str, _Plan]:
    """The plan of each kind of attention to be shown: those that have the queries and keys asked for."""
    every = tuple(model.kinds)
    if request.kind not in (None, "all", *every):
        raise UsageError(
            f"this model has no {request.kind} attention", f"it has {', '.join(every)}; or leave out --kind"
        )
    kinds = every if request.kind in (None, "all") else (str(request.kind),)
    if request.kind is None and not request.everything and tokens.target is not None and request.target is None:
        kinds = tuple(k for k in kinds if k != "decoder")  # one token that looks at itself
    plans, lacking = {}, None
    for kind in kinds:
        target = tokens if tokens.target is None else tokens.target
        sides = {"encoder": (tokens, tokens), "decoder": (target, target), "cross": (target, tokens)}
        try:
            plans[kind] = _plan(*sides.get(kind, (tokens, tokens)), request)
        except UsageError as error:
            lacking = lacking or error
    if not plans and lacking is not None:
        raise lacking
    return plans


def _chosen(tokens: Tokens, request: Request, address: str | None, option: str) -> list[int]:
    """The rows or columns that an address names among the viewed tokens."""
    groups = _measures.groups(tokens, request)
    viewed = views.merged(tokens, groups)
    hidden = {i for i, s in enumerate(viewed.special) if s} if request.hide_special else set()
    of = {p: i for i, g in enumerate(groups) for p in g}
    if address is None:
        return [i for i in range(len(groups)) if i not in hidden]
    found = {of[p] for match in parse_tokens(address, tokens, option) for p in match.positions}
    if not found - hidden:
        raise UsageError(f"{option} names only special tokens", "leave out --hide-special")
    return sorted(found - hidden)


def _plan(rows: Tokens, columns: Tokens, request: Request) -> _Plan:
    queries = _chosen(rows, request, request.query, "--query")
    keys = _chosen(columns, request, request.key, "--key")
    if not queries or not keys:
        raise UsageError("there are only special tokens in this text", "leave out --hide-special")
    view: Literal["matrix", "top", "both", "query"]
    if request.view is not None:
        view = request.view
    elif request.query is not None and len(queries) <= FEW_QUERIES:
        view = "query"
    else:
        view = "both" if len(queries) <= FEW_TOKENS else "top"
    left_out, size = 0, (1, 1)
    if view == "matrix" and not request.everything:
        sizes = zip((queries, keys), request.room, strict=True)
        rows_of_one, columns_of_one = (_pooled.block_size(len(chosen), room, FEW_TOKENS) for chosen, room in sizes)
        size = rows_of_one, columns_of_one
    elif not request.everything and len(queries) > FEW_TOKENS:
        left_out = len(queries) - FEW_TOKENS
        queries = queries[:FEW_TOKENS]
    groups, key_groups = _measures.groups(rows, request), _measures.groups(columns, request)
    return _Plan(
        groups=groups,
        viewed=views.merged(rows, groups),
        key_groups=key_groups,
        viewed_keys=views.merged(columns, key_groups),
        queries=queries,
        keys=keys,
        view=view,
        left_out=left_out,
        size=size,
    )


def _choose(model: Model, request: Request, plans: Mapping[str, _Plan]) -> tuple[Selections, Ranking | None]:
    """The heads to compute, and where only a few of them are to be shown, what will choose those by their numbers."""
    if request.measure in _measures.WITHOUT_HEADS:
        return _measures.whole_layers(model, tuple(plans), request), None
    if request.layer is not None or request.head is not None:
        return addressed(model, tuple(plans), request), None
    there = model.selections(None)
    every = {kind: there[kind] for kind in plans}
    if request.everything or request.folding or sum(map(_shown.count, every.values())) <= FEW_HEADS:
        return every, None
    first = {kind: model.kinds[kind].show_layer for kind in plans}
    layers = {kind: max(every[kind]) if layer is None else layer for kind, layer in first.items()}
    selections = {kind: {layer: every[kind][layer]} for kind, layer in layers.items()}
    few = FOCUSED if len(plans) == 1 else FOCUSED // 2
    if all(_shown.count(selection) <= few for selection in selections.values()):
        return selections, None
    return selections, Ranking(_positions(plans), few)


def _positions(plans: Mapping[str, _Plan]) -> Mapping[str, Sequence[int]]:
    """The positions in the text of the rows that each plan shows."""
    return {kind: [p for q in plan.queries for p in plan.groups[q]] for kind, plan in plans.items()}


def addressed(model: Model, kinds: Sequence[str], request: Request) -> Selections:
    """The heads that --layer and --head name, of each kind that has them."""
    found, lacking = {}, None
    there = model.selections(None)
    for kind in kinds:
        try:
            found[kind] = parse_heads(request.layer, request.head, there[kind])
        except UsageError as error:
            lacking = error
    if not found and lacking is not None:
        raise lacking
    return found


def _heads(
    model: Model,
    tokens: Tokens,
    selections: Selections,
    request: Request,
    plans: Mapping[str, _Plan],
    progress: Progress,
    number: int,
    ranking: Ranking | None,
) -> Iterator[Head]:
    """The chosen heads, layer by layer as they are computed."""
    watch = None if ranking is None else ranking.watch
    rows = _positions(plans)
    stream = _measures.stream(model, tokens, selections, request, rows, progress=progress, watch=watch)
    for kind, blocks in _by_layer(stream):
        made = _layer if plans[kind].size == (1, 1) else _blocks
        for head in made(blocks, model, request, plans[kind], selections):
            yield replace(head, text=number) if number else head


def _by_layer(blocks: Iterable[Block]) -> Iterator[tuple[str, Iterator[Block]]]:
    from itertools import groupby

    for (kind, _), group in groupby(blocks, key=lambda b: (b.kind, b.layer)):
        yield kind, group


def _layer(blocks: Iterable[Block], model: Model, request: Request, plan: _Plan, selections: Selections) -> list[Head]:
    """One layer's heads out of its blocks."""
    wants_matrix = request.matrices and (request.everything or plan.view != "top")
    matrix, top = Matrix(plan.queries, plan.keys), TopKeys(plan.queries, plan.keys, request.top)
    held = Held(plan.queries, plan.keys) if request.hide_special or request.renormalise else None
    seen: dict[tuple[str, int, int], None] = {}
    for block in blocks:
        if wants_matrix:
            matrix.add(block)
        top.add(block)
        if held is not None:
            held.add(block)
        seen.update(dict.fromkeys((block.kind, block.layer, head) for head in block.heads))
    rows, columns = axis(plan.viewed, plan.queries), axis(plan.viewed_keys, plan.keys)
    found = []
    for address in seen:
        kind, layer, number = address
        head = Head(
            kind=kind,
            layer=None if layer == FOLDED else layer,
            head=None if number == FOLDED else number,
            folded=_measures.folded_name(request, selections[kind], layer, number),
            queries=rows,
            keys=columns,
            attn=matrix.attn[address] if wants_matrix else None,
            visible=matrix.mask(kind, layer) if wants_matrix else None,
            top=tuple(Top(query=q, keys=k) for q, k in sorted(top.found.get(address, {}).items())),
            role=model.spec.roles.get(f"L{layer}.H{number}"),
        )
        if held is not None:
            head = held.finish(head, address, hide=request.hide_special, renormalise=request.renormalise)
        found.append(head)
    return found


def _blocks(blocks: Iterable[Block], model: Model, request: Request, plan: _Plan, selections: Selections) -> list[Head]:
    """One layer's heads, where a row or a column is made of several."""
    rows = _pooled.Chosen(tokens=plan.viewed, places=plan.queries, size=plan.size[0])
    columns = _pooled.Chosen(tokens=plan.viewed_keys, places=plan.keys, size=plan.size[1])
    found = []
    for head in _pooled.heads(blocks, rows, columns, request.pooling, rescaled=request.renormalise):
        kind, layer, number = head.kind, head.layer, head.head
        if layer is None or number is None:
            raise ValueError("a block is of one head")
        folded = _measures.folded_name(request, selections[kind], layer, number)
        role = model.spec.roles.get(f"L{layer}.H{number}")
        layer, number = (None if i == FOLDED else i for i in (layer, number))
        found.append(replace(head, layer=layer, head=number, folded=folded, role=role))
    return found


class Held:
    """How much of each row lies on the columns that are shown, to say what hidden ones held and to rescale by."""

    LEAST = 0.01  # a row that keeps less than this on what is shown is not rescaled: null

    def __init__(self, queries: Sequence[int], keys: Sequence[int]) -> None:
        self._row = {q: i for i, q in enumerate(queries)}
        self._keys = frozenset(keys)
        self.kept: dict[tuple[str, int, int], Any] = {}
        self.total: dict[tuple[str, int, int], Any] = {}

    def add(self, block: Block) -> None:
        """Takes the block's rows that are wanted."""
        import numpy as np

        columns = [k - block.keys.start for k in block.keys if k in self._keys]
        for i, head in enumerate(block.heads):
            key = (block.kind, block.layer, head)
            kept = self.kept.setdefault(key, np.zeros(len(self._row), block.attn.dtype))
            total = self.total.setdefault(key, np.zeros(len(self._row), block.attn.dtype))
            for r, q in enumerate(block.queries):
                if q in self._row:
                    kept[self._row[q]] = block.attn[i, r, columns].sum()
                    total[self._row[q]] = block.attn[i, r].sum()

    def finish(self, head: Head, address: tuple[str, int, int], *, hide: bool, renormalise: bool) -> Head:
        """The head with what its hidden columns held, and its rows rescaled where that was asked for."""
        import numpy as np

        kept, total = self.kept[address], self.total[address]
        if hide:
            head = replace(head, held=np.maximum(total - kept, 0))
        if not renormalise:
            return head
        scale = np.where(kept >= self.LEAST, 1 / np.maximum(kept, self.LEAST), np.nan).astype(kept.dtype)
        top = tuple(
            Top(query=t.query, keys=tuple((k, float(np.float32(w) * scale[t.query])) for k, w in t.keys))
            for t in head.top
            if not np.isnan(scale[t.query])
        )
        return replace(head, attn=None if head.attn is None else head.attn * scale[:, None], top=top)


def axis(tokens: Tokens, chosen: Sequence[int]) -> Axis:
    """Rows or columns of a matrix: the chosen tokens, by what they are called."""
    from collections import Counter

    folded = [t.casefold() for t in tokens.texts]
    counts = Counter(folded)
    members, continues = views.members(tokens), tokens.continues

    def position(i: int) -> Positions:
        return members[i][0] if len(members[i]) == 1 else members[i]

    return Axis(
        positions=tuple(position(i) for i in chosen),
        texts=tuple(tokens.texts[i] for i in chosen),
        special=tuple(tokens.special[i] for i in chosen),
        continues=tuple(continues[i] and not _same_character(tokens, i) for i in chosen),
        repeated=tuple(counts[folded[i]] > 1 for i in chosen),
        unknown=tuple(tokens.unknown[i] for i in chosen),
    )


def _same_character(tokens: Tokens, i: int) -> bool:
    """Whether a token holds a further part of the character that the token before it began."""
    before, span = tokens.spans[i - 1], tokens.spans[i]
    return before is not None and span is not None and span[0] < before[1]


def token_list(tokens: Tokens) -> tuple[Token, ...]:
    """The tokens of the text, one by one."""
    continues = tokens.continues
    return tuple(
        Token(
            position=i,
            id=tokens.ids[i] if tokens.ids else None,
            piece=tokens.pieces[i],
            text=tokens.texts[i],
            start=None if (span := tokens.spans[i]) is None else span[0],
            end=None if span is None else span[1],
            special=tokens.special[i],
            segment=tokens.segments[i],
            word=tokens.words[i],
            continues=continues[i],
        )
        for i in range(len(tokens))
    )


def describe(model: Model) -> Mapping[str, Any]:
    """The entries of the JSON contract's `model` object."""
    spec, origin = model.spec, model.provenance
    sizes = ("n_layers", "n_heads", "n_kv_heads", "d_head", "d_mlp", "causal")
    decoder = {} if spec.decoder is None else {"decoder": {name: getattr(spec.decoder, name) for name in sizes}}
    return {
        "source": origin.source,
        "family": spec.family,
        "weights": origin.weights,
        "embeddings": origin.embeddings,
        "seed": origin.seed,
        "n_layers": spec.n_layers,
        "n_heads": spec.n_heads,
        "n_kv_heads": spec.n_kv_heads,
        "d_model": spec.d_model or None,
        "d_head": spec.d_head or None,
        "d_mlp": spec.d_mlp or None,
        "n_ctx": spec.n_ctx,
        "vocab_size": spec.vocab_size,
        "causal": spec.causal,
        "dtype": str(model.dtype),
        "description": spec.description or None,
        "unused_tensors": len(model.unused),
        "ignored_keys": list(spec.ignored_keys),
        **decoder,
        **_shown.holds(model),
    }


def _left_out(plans: Iterable[_Plan]) -> Iterator[Note]:
    """How to see the queries beyond those shown."""
    plan = next((p for p in plans if p.left_out), None)
    if plan is not None:
        last = plan.queries[-1]
        yield Note(
            text=f"first {len(plan.queries)} of {len(plan.queries) + plan.left_out} queries; others: --query "
            f"{last + 1}-{min(last + FEW_TOKENS, len(plan.viewed) - 1)}; all: --view matrix or --json"
        )
