"""What the numbers of a command are: raw weights or another measure, merged tokens, folded heads or layers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from attn_cli.errors import UsageError, quote
from attn_cli.model import views
from attn_cli.model.folds import FOLDED, How, Over, by_norm, fold
from attn_cli.select import parse_tokens

if TYPE_CHECKING:
    from attn_cli.commands.show import Request
    from attn_cli.model import Model
    from attn_cli.model.block import Block, Selections
    from attn_cli.model.forward import Progress
    from attn_cli.tokens import Tokens

WITHOUT_HEADS = ("rollout", "flow")  # of whole layers

WITHOUT_SPECIAL = "special tokens left out, as queries and as keys; the rest of each row rescaled to 100 per cent"

_SAID = {
    "attn": "attention weights after softmax",
    "norm": "attention weight times the norm of the value it carries, |a v W_O|, of each row's sum (Kobayashi 2020); says "
    "how much is moved, not whether the model uses it",
    "rollout": "attention rollout: layers multiplied, mean over heads and residual stream half each (Abnar and Zuidema 2020); "
    "an estimate of where information comes from, blind to values and MLPs",
    "flow": "attention flow: the most that could run from the query down to each token through layers joined by pipes as wide "
    "as the mean weights, residual stream half (Abnar and Zuidema 2020); an upper bound, so rows do not sum to 100",
}


def describe(measure: str, folding: Folding | None = None) -> str:
    """In one line what the numbers are, and what they do not mean."""
    return _SAID[measure] if folding is None else f"{folding.said()} of {_SAID[measure]}"


@dataclass(frozen=True)
class Folding:
    """--mean or --max over heads, layers, or both."""

    how: How
    over: frozenset[Over]

    @classmethod
    def parse(cls, mean: str | None, largest: str | None) -> Folding | None:
        """What the two options ask for together; None for nothing."""
        if mean is not None and largest is not None:
            raise UsageError("--mean and --max contradict each other", "give one of them")
        text, how = (mean, "mean") if largest is None else (largest, "max")
        if text is None:
            return None
        found: set[Over] = set()
        for part in text.split(","):
            name = part.strip()
            if name not in ("heads", "layers"):
                raise UsageError(
                    f"--{how} {quote(text)}: heads or layers?", f"write --{how} heads, layers, or heads,layers"
                )
            found.add("heads" if name == "heads" else "layers")
        return cls("mean" if how == "mean" else "max", frozenset(found))

    def said(self) -> str:
        """The folding in words."""
        return f"{'mean' if self.how == 'mean' else 'largest'} over {' and '.join(sorted(self.over))}"

    def check(self, selections: Selections) -> None:
        """UsageError where layers cannot be folded because they are to give different heads."""
        for selection in selections.values():
            if self.over == {"layers"} and len(set(selection.values())) > 1:
                raise UsageError(
                    f"--{self.how} layers needs the same heads of each layer", "select them with --layer and --head H"
                )

    def name(self, selection: Mapping[int, Sequence[int]], layer: int, head: int) -> str:
        """What a folded block is called: of which heads, in which layers."""
        how = "mean" if self.how == "mean" else "largest"
        layers = f"{len(selection)} layers" if len(selection) != 1 else "1 layer"
        if self.over == {"heads"}:
            n = len(selection[layer])
            return f"L{layer} {how} of {n} head{'s' * (n != 1)}"
        if self.over == {"layers"}:
            return f"H{head} {how} of {layers}"
        return f"{how} of {sum(len(h) for h in selection.values())} heads in {layers}"


def stream(
    model: Model,
    tokens: Tokens,
    selections: Selections,
    request: Request,
    queries: Mapping[str, Sequence[int]] | None = None,
    *,
    progress: Progress | None = None,
    watch: Callable[[Iterable[Block]], Iterator[Block]] | None = None,
) -> Iterator[Block]:
    """The chosen heads' blocks in the measure, the tokens and the folding that were asked for.

    `progress` goes along with the model's run, `watch` sees the weights as the model gives them.
    `queries` are, per kind, the positions in the text whose rows are wanted: the flow computes no others.
    """
    measure = request.measure
    blocks: Iterator[Block]
    if measure in WITHOUT_HEADS:
        blocks = _without_heads(model, tokens, selections, measure, queries, progress)
    else:
        plain = request.folding is None and queries is not None  # each block is used up before the next one is taken
        rows = next(iter(queries.values())) if plain and queries and len(queries) == 1 else None
        blocks = model.blocks(tokens, selections, reuse=plain, queries=rows, progress=progress)
        if watch is not None:
            blocks = watch(blocks)
        if measure == "norm":
            _has_values(model)
            blocks = by_norm(blocks)
    check_merge(tokens, request.merge)
    if request.words or request.merge is not None:
        blocks = _merged(blocks, tokens, request)
    folding = request.folding
    if folding is None:
        return blocks
    folding.check(selections)
    return fold(blocks, folding.how, folding.over)


def _has_values(model: Model) -> None:
    if model.provenance.weights == "given":
        raise UsageError("--measure norm needs the model's values: this attention came without", "use --measure attn")


def _without_heads(
    model: Model,
    tokens: Tokens,
    selections: Selections,
    measure: str,
    queries: Mapping[str, Sequence[int]] | None,
    progress: Progress | None,
) -> Iterator[Block]:
    from attn_cli.collect.flow import flow
    from attn_cli.collect.rollout import rollout

    kinds = {kind: s for kind, s in selections.items() if kind != "cross"}
    below = {kind: {layer: _every(model, kind) for layer in range(max(s) + 1)} for kind, s in kinds.items() if s}
    blocks = model.blocks(tokens, below, progress=progress)
    return rollout(blocks, kinds) if measure == "rollout" else flow(blocks, kinds, queries or {})


def _every(model: Model, kind: str) -> tuple[int, ...]:
    return tuple(range(model.kinds[kind].n_heads))


def whole_layers(model: Model, kinds: Sequence[str], request: Request) -> Selections:
    """For measures without heads: the layers asked for, the last one where none is; each as one folded head."""
    if request.head is not None or request.folding is not None:
        option = "--head" if request.head is not None else "--mean and --max"
        raise UsageError(
            f"--measure {request.measure} has layers but no heads: {option} has nothing to choose", "leave it out"
        )
    if "cross" in kinds and len(kinds) == 1:
        raise UsageError(f"--measure {request.measure} is of self-attention only", "leave out --kind cross")
    from attn_cli.select import parse_heads

    found = {}
    for kind in kinds:
        if kind == "cross":
            continue
        there = model.selections(None)[kind]
        layers = [max(there)] if request.layer is None else list(parse_heads(request.layer, None, there))
        found[kind] = {layer: (FOLDED,) for layer in layers}
    return found


def folded_name(request: Request, selection: Mapping[int, Sequence[int]], layer: int, head: int) -> str:
    """What a block of several heads is called; nothing where it is of one."""
    if request.measure in WITHOUT_HEADS:
        return f"L{layer} {request.measure}"
    return "" if request.folding is None else request.folding.name(selection, layer, head)


def groups(tokens: Tokens, request: Request) -> views.Groups:
    """The runs of tokens that stand as one: words with --words, the spans of --merge, else single pieces."""
    found: list[tuple[int, ...]] = (
        list(views.word_groups(tokens)) if request.words else [(i,) for i in range(len(tokens))]
    )
    for span in _spans(tokens, request.merge):
        inside = [g for g in found if set(g) & span]
        at = found.index(inside[0])
        found[at : at + len(inside)] = [tuple(p for g in inside for p in g)]
    return found


def _spans(tokens: Tokens, merge: str | None) -> list[set[int]]:
    """The positions of each span of --merge that stands in these tokens; a range is one span, a text each of its places."""
    spans: list[set[int]] = []
    for part in (merge or "").split(","):
        if not part.strip():
            continue
        try:
            matches = parse_tokens(part, tokens, "--merge")
        except UsageError:
            continue  # check_merge has found it in the other text
        ranged = len(matches) > 1 and all(len(m.positions) == 1 for m in matches) and part.strip()[0].isdigit()
        spans += [{p for m in matches for p in m.positions}] if ranged else [set(m.positions) for m in matches]
    for i, span in enumerate(spans):
        if any(span & other for other in spans[:i]):
            raise UsageError(f"--merge {quote(merge or '')}: two spans overlap", "name each token once")
    return spans


def check_merge(tokens: Tokens, merge: str | None) -> None:
    """UsageError where a span of --merge stands in neither text."""
    for part in (merge or "").split(","):
        if not part.strip():
            continue
        try:
            parse_tokens(part, tokens, "--merge")
        except UsageError:
            if tokens.target is None:
                raise
            parse_tokens(part, tokens.target, "--merge")


def merge_name(request: Request) -> Literal["pieces", "words", "spans"]:
    """What the tokens of the output are."""
    return "spans" if request.merge is not None else "words" if request.words else "pieces"


def _merged(blocks: Iterator[Block], tokens: Tokens, request: Request) -> Iterator[Block]:
    """The blocks with merged tokens, each kind by the tokens of its own queries and keys."""
    from itertools import groupby

    target = tokens if tokens.target is None else tokens.target
    of_source = groups(tokens, request)
    of_target = of_source if tokens.target is None else groups(target, request)
    for (kind, _), part in groupby(blocks, key=lambda block: (block.kind, block.layer)):
        rows = of_target if kind in ("decoder", "cross") else of_source
        columns = of_target if kind == "decoder" else of_source
        yield from views.merge(part, rows, columns)
