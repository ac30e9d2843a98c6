"""`explain`: one row of attention in six steps, from the token's vector to what the head writes, with all numbers.

Vaswani 2017 (arXiv 1706.03762), section 3.2, in the order of the usual tutorials. Every number is block.trace's, or follows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from attn_cli.collect.focus import Focus
from attn_cli.commands import _prose_en, _prose_zh, _steps_after, _steps_before, _steps_out
from attn_cli.commands._notes import lacking
from attn_cli.commands._quantities import quantities
from attn_cli.commands._reading import read
from attn_cli.commands._row import Row
from attn_cli.commands._teller import Depth, Teller
from attn_cli.commands.show import axis, describe, token_list
from attn_cli.errors import UsageError, quote
from attn_cli.model import around
from attn_cli.report import Head, Note, Prose, Report, Section, Top
from attn_cli.select import parse_heads, parse_tokens

if TYPE_CHECKING:
    from attn_cli.model import Model
    from attn_cli.model.block import Block
    from attn_cli.tokens import Tokens

SCHEMA = "attn-cli.explain/1"
LANGUAGES: Mapping[str, Mapping[str, str]] = {"en": _prose_en.TEXT, "zh": _prose_zh.TEXT}
STEPS: tuple[Callable[[Teller], Section], ...] = (
    _steps_before.take_in,
    _steps_before.project,
    _steps_before.score,
    _steps_after.scale,
    _steps_after.soften,
    _steps_out.bring_out,
)
_PRONOUN = "pronoun"
_TOP = 5
_NOTHING = 0.0005  # a weight that is written as 0.0%


FUNCTION_WORDS = frozenset(
    """
    a about after all also am an and any are as at be because been before being but by can could d did didn do does doesn don
    for from had has have he her hers him his how i if in into is isn it its just ll m may me might mine more most must my
    no nor not of off on one or our ours out over re s shall she should so some such t than that the their them then there
    these they this those to too up us ve very was wasn we were what when where which while who whom whose why will with
    would yes you your yours
    的 了 着 过 吗 呢 吧 啊 呀 也 都 和 与 或 在 是 他 她 它 我 你 们 这 那 很 太 不 没
    """.split()
)
"""Words that tie others together and are not what a sentence is about, in the pieces that tokenizers make of them."""

PRONOUNS = frozenset(
    """
    he him himself his she her herself it itself its they them themselves their 它 他 她
    """.split()
)
"""Words that stand for a noun of the text."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What was asked for, in the words of the command line."""

    pair: str | None = None
    target: str | None = None
    kind: str | None = None
    layer: str | None = None
    head: str | None = None
    query: str | None = None
    key: str | None = None
    literal: bool = False
    added: bool = True
    depth: Depth = "usual"
    step: int | None = None
    language: str = "en"
    pause: bool = False
    toy: bool = False


@dataclass(frozen=True)
class _Found:
    """A token that an address named, and what the reader should know of the choice."""

    position: int
    notes: tuple[tuple[str, Mapping[str, object]], ...] = field(default=())


def explain(model: Model, text: str, request: Request, *, version: str = "") -> Report:
    """The report on one query in one head."""
    tokens = read(model, text, request)
    kind = _kind(model, tokens, request)
    queries, keys = _sides(tokens, kind)
    layer, head = _head(model, kind, request)
    role = model.spec.roles.get(f"L{layer}.H{head}", "") if kind == "self" else ""
    query = _query(queries, request.query, of_pronoun=role.startswith(_PRONOUN))
    if head is None:
        head = _most_focused(model, tokens, kind, layer, query.position)
    row = _row(model, tokens, kind, (layer, head), query.position)
    key = None if request.key is None else _named(keys, request.key, "--key").position
    if key is not None:
        row = _looking_at(row, key)
    tell = Teller(row=row, text=LANGUAGES[request.language], depth=request.depth)
    return Report(
        schema=SCHEMA,
        version=version,
        text=tokens.text,
        pair=tokens.pair,
        target=request.target,
        model=describe(model),
        title=model.title,
        tokens=token_list(tokens),
        target_tokens=None if tokens.target is None else token_list(tokens.target),
        heads=(_as_head(row),),
        shown=tell.say("shown", head=row.address),
        sections=_sections(tell, query, request),
        pause=tell.say("pause") if request.pause else "",
        notes=(*_notes(model), *lacking([tokens])),
        fields={"explain": quantities(row, matrices=request.depth == "full")},
    )


def _kind(model: Model, tokens: Tokens, request: Request) -> str:
    """Which attention: the one asked for; of an encoder-decoder the encoder's, or with a target the one to the encoder."""
    kinds = tuple(model.kinds)
    if request.kind is None:
        return "cross" if request.target is not None else kinds[0]
    if request.kind == "all":
        raise UsageError("--kind all: explain tells of one attention", f"this model has {', '.join(kinds)}")
    if request.kind not in kinds:
        raise UsageError(
            f"this model has no {request.kind} attention", f"it has {', '.join(kinds)}; or leave out --kind"
        )
    return request.kind


def _sides(tokens: Tokens, kind: str) -> tuple[Tokens, Tokens]:
    """The tokens that look and the tokens that are looked at."""
    target = tokens if tokens.target is None else tokens.target
    return {"decoder": (target, target), "cross": (target, tokens)}.get(kind, (tokens, tokens))


def _query(tokens: Tokens, address: str | None, *, of_pronoun: bool = False) -> _Found:
    """The token asked for; else the last content word of the text, else its last word: its last piece.

    `of_pronoun`: the head is one of a pronoun, so that the text's last pronoun comes first.
    """
    if address is not None:
        return _named(tokens, address, "--query")
    words: dict[int, str] = {}  # by the position of their last piece
    for i, text in enumerate(tokens.texts):
        if tokens.special[i] is None and any(c.isalnum() for c in text):
            words[i] = (words.pop(i - 1, "") if tokens.continues[i] else "") + text.casefold()
    pronouns = [i for i, word in words.items() if of_pronoun and word in PRONOUNS]
    content = [i for i, word in words.items() if word not in FUNCTION_WORDS and not tokens.unknown[i]]
    return _Found((pronouns or content or list(words) or [len(tokens) - 1])[-1])


def _named(tokens: Tokens, address: str, option: str) -> _Found:
    """One token: the last piece of the first thing that the address finds."""
    matches = parse_tokens(address, tokens, option)
    first = matches[0].positions
    notes: list[tuple[str, Mapping[str, object]]] = []
    if len(matches) > 1:
        places = ", ".join(str(m.positions[-1]) for m in matches[:9])
        about = {"name": address, "places": places, "at": first[-1], "example": matches[1].positions[-1]}
        notes.append(("others", about))
    if len(first) > 1:
        notes.append(("several", {"name": address, "n": len(first), "at": first[-1]}))
    return _Found(first[-1], tuple(notes) if option == "--query" else ())


def _head(model: Model, kind: str, request: Request) -> tuple[int, int | None]:
    """The head asked for; else the pronoun head that the model names, else the layer to show without a head."""
    spec, there = model.kinds[kind], model.selections(None)[kind]
    layer = spec.n_layers - 1 if spec.show_layer is None else spec.show_layer
    if request.layer is not None or request.head is not None:
        found = parse_heads(request.layer, request.head, there, default=(layer,))
        chosen = [(at, head) for at, heads in found.items() for head in heads]
        if len(chosen) == 1:
            return chosen[0]
        if request.head is not None or len(found) > 1:
            raise UsageError(
                f"{len(chosen)} heads are named, explain takes one", f"for example --head {chosen[0][0]}.{chosen[0][1]}"
            )
        return chosen[0][0], None
    if kind == "self":
        for address, role in model.spec.roles.items():
            if _PRONOUN in role:
                ((layer, (head, *_)),) = parse_heads(None, address, there).items()
                return layer, head
    return layer, None


def _most_focused(model: Model, tokens: Tokens, kind: str, layer: int, query: int) -> int:
    """The head of a layer whose row is the most focused."""
    focus = Focus([query])
    for block in model.blocks(tokens, {kind: {layer: model.selections(None)[kind][layer]}}):
        focus.add(block)
    ranked = focus.ranked()
    return ranked[0][0][2] if ranked else 0


def _row(model: Model, tokens: Tokens, kind: str, address: tuple[int, int], query: int) -> Row:
    layer, head = address
    block = _block(model, tokens, kind, address, query)
    decodes = kind in ("decoder", "cross") and model.decoder is not None
    stack, read = (model.decoder, tokens.target) if decodes else (model, tokens)
    if stack is None or read is None:
        raise UsageError("there is no text for the decoder", "give one with --target")
    return Row(
        model=model,
        spec=model.kinds[kind],
        kind=kind,
        layer=layer,
        head=head,
        query=query,
        query_tokens=block.query_tokens,
        key_tokens=block.key_tokens,
        traces=tuple(block.trace(h, query) for h in range(model.kinds[kind].n_heads)),
        inputs=around.inputs(stack, read) if layer == 0 and kind != "cross" else None,
    )


def _block(model: Model, tokens: Tokens, kind: str, address: tuple[int, int], query: int) -> Block:
    """The block that the query's row is in: the model runs no further."""
    layer, head = address
    for block in model.blocks(tokens, {kind: {layer: (head,)}}):
        if query in block.queries:
            return block
    raise UsageError(f"there is no query {query}", "give another --query")


def _looking_at(row: Row, key: int) -> Row:
    from dataclasses import replace

    if not row.seen[key]:
        raise UsageError(
            f"--key {quote(row.name(key))}: {quote(row.name(row.query, of_query=True))} may not look at it",
            "it stands outside of the mask; name one that may be looked at",
        )
    return replace(row, asked_key=key)


def _as_head(row: Row) -> Head:
    """The row as `show` has it, for the formats that know matrices only."""
    weights = row.trace.weights
    top = tuple((j, float(weights[j])) for j in row.strongest[:_TOP] if row.seen[j])
    return Head(
        kind=row.kind,
        layer=row.layer,
        head=row.head,
        queries=axis(row.query_tokens, [row.query]),
        keys=axis(row.key_tokens, range(len(row.key_tokens))),
        attn=weights[None],
        visible=row.seen[None],
        top=(Top(query=0, keys=top),),
        role=row.model.spec.roles.get(f"L{row.layer}.H{row.head}"),
    )


def _sections(tell: Teller, query: _Found, request: Request) -> tuple[Section, ...]:
    """The answer, the steps asked for, the trap of the worked example, and how to go on."""
    chosen = STEPS if request.step is None else STEPS[request.step - 1 : request.step]
    sections = [Section(parts=_opening(tell, query, request)), *(step(tell) for step in chosen)]
    if request.toy and request.step is None and not tell.brief:
        from attn_cli.commands._toy import trap

        sections.append(trap(tell))
    return (*sections, Section(parts=(Prose(text=tell.say("footer"), kind="aside"),)))


def _opening(tell: Teller, query: _Found, request: Request) -> tuple[Prose, ...]:
    """What the head looks at, and what there is to know before reading on."""
    row, trace = tell.row, tell.row.trace
    seen = [j for j in row.strongest if row.seen[j]]
    named = {"head": row.address, "first": row.name(seen[0])}
    sunk = 0.0 if trace.sink is None else 1 - float(trace.weights.sum())
    first = 100 * float(trace.weights[seen[0]])
    if 100 * sunk > first:
        answer = tell.say("answer.sink", **named, share=100 * sunk, other=first)
    elif len(seen) == 1:
        answer = tell.say("answer.one", **named)
    elif float(trace.weights[seen[1]]) < _NOTHING:
        answer = tell.say("answer.all", **named, share=first)
    else:
        second = {"second": row.name(seen[1]), "other": 100 * float(trace.weights[seen[1]])}
        answer = tell.say("answer.two", **named, share=first, **second)
    role = row.model.spec.roles.get(f"L{row.layer}.H{row.head}")
    about = [tell.say("role", role=role)] if role else []
    about += [tell.say(name, **values) for name, values in query.notes]
    if row.model.provenance.weights == "random":
        about.append(tell.say("random"))
    if request.step is None and not tell.brief:
        about.append(tell.say("steps"))
    parts = [Prose(text=answer, kind="answer")]
    return (*parts, Prose(text=tell.text["joint"].join(about), kind="aside")) if about else tuple(parts)


def _notes(model: Model) -> tuple[Note, ...]:
    """What may mislead, whatever the row."""
    ignored = [f"config key {key} ignored on request: the numbers may be wrong" for key in model.spec.ignored_keys]
    kind: Literal["warning"] = "warning"
    return tuple(Note(text=line, kind=kind) for line in (*model.provenance.notes, *ignored))
