"""What the options that commands share come to: the weights, the texts, and the request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from attn_cli import options as opt
from attn_cli import streams
from attn_cli.errors import TextError, UsageError, quote

if TYPE_CHECKING:
    from attn_cli.commands.show import Request
    from attn_cli.model.load import Shape

T = TypeVar("T")


def source(weights: opt.Weights, attn: Path | None = None) -> Any:
    """What gives the blocks: a model on disk, random weights, or attention that was saved."""
    from attn_cli.model import load

    shape, name = _shape(weights), argument(weights.model, "--model")
    chosen = (("--model", name), ("--attn", attn), ("--random", weights.random or None))
    named = [option for option, value in chosen if value is not None]
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)} contradict each other", "give one of them")
    if attn is not None:
        from attn_cli.model.given import read_given

        if shape.given() or weights.tokenizer:
            raise UsageError("--attn is attention already: no weights, no tokenizer", "leave the other options out")
        return read_given(attn)
    if name is None and weights.download:
        raise UsageError("--download needs a model to fetch", "name it: -m org/name")
    if weights.random or (name is None and shape.given()):
        return load.random_model(shape, tokenizer=weights.tokenizer, dtype="float64")
    return load.load(
        name,
        dtype=None,
        tokenizer=weights.tokenizer,
        ignore_keys=tuple(weights.ignore_key or ()),
        shape=shape,
        download=weights.download,
    )


def other(weights: opt.Weights, name: str) -> Any:
    """A second model, read as the first one is."""
    return source(
        opt.Weights(model=name, tokenizer=weights.tokenizer, ignore_key=weights.ignore_key, download=weights.download)
    )


def toy(weights: opt.Reading, text: str | None) -> Any:
    """The worked example, which brings its own input and weights."""
    if text is not None or weights.file is not None or weights.model or weights.random or _shape(weights).given():
        raise UsageError("--toy brings its own words and weights", "leave out the text and the options of the model")
    from attn_cli.commands import _toy

    return _toy.model()


def _shape(weights: opt.Weights) -> Shape:
    from attn_cli.model.load import Shape

    return Shape(
        n_layers=weights.n_layers,
        n_heads=weights.n_heads,
        d_model=weights.d_model,
        positions=None if weights.positions is None else weights.positions.value,
        seed=weights.seed,
        causal=weights.causal or None,
    )


def request(
    inputs: opt.Reading, pick: opt.Pick, name: str, top: int, *, query: str | None = None, key: str | None = None
) -> Request:
    """The request that the shared options make, for a format of that name."""
    from attn_cli.commands._measures import Folding
    from attn_cli.commands.show import Request

    if top < 1:
        raise UsageError(f"--top {top} is nothing to list", "give 1 or more")
    return Request(
        **reading(inputs),
        layer=pick.layer,
        head=pick.head,
        query=argument(query, "--query"),
        key=argument(key, "--key"),
        top=top,
        words=pick.words,
        merge=argument(pick.merge, "--merge"),
        hide_special=pick.hide_special,
        measure=pick.measure.value,
        folding=Folding.parse(pick.mean, pick.max),
        everything=name in streams.FOR_PROGRAMS,
    )


def reading(inputs: opt.Reading) -> dict[str, Any]:
    """How a text is read, as every request says it."""
    return {
        "pair": argument(inputs.pair, "--pair"),
        "target": argument(inputs.target, "--target"),
        "kind": None if inputs.kind is None else inputs.kind.value,
        "literal": inputs.literal,
        "added": not inputs.no_added,
    }


def argument(text: str | None, what: str) -> str | None:
    """An argument as Unicode, where there is one."""
    return None if text is None else streams.argument(text, what)


def texts(source: Any, text: str | None, inputs: opt.Reading, lines: bool, command: str) -> Sequence[tuple[int, str]]:
    """The texts to run, numbered; a source that brings its own input takes none."""
    if source.given is not None:
        options = {"--file": inputs.file, "--pair": inputs.pair, "--target": inputs.target, "--lines": lines or None}
        needless(source, {"the text": text, **options})
        return [(0, "")]
    whole = streams.read_text(text, inputs.file, command)
    if not lines:
        return [(0, whole)]
    found = [(i, line) for i, line in enumerate(whole.split("\n")) if line.strip()]
    if not found:
        raise TextError("there is no line with text", "give one text a line")
    return found


def needless(source: Any, given: Mapping[str, object]) -> None:
    """UsageError where a text, or an option that goes with one, is given to a source that brings its own input."""
    named = [name for name, value in given.items() if value is not None]
    if named:
        raise UsageError(f"{quote(source.source)} brings its own tokens", f"leave out {' and '.join(named)}")


def each(texts: Iterable[tuple[int, str]], run: Callable[[int, str], T], *, lines: bool) -> Iterator[T]:
    """What `run` makes of each text; an error of one of several lines says which."""
    for i, text in texts:
        try:
            found = run(i, text)
        except TextError as error:
            raise TextError(f"line {i + 1}: {error.message}" if lines else error.message, error.hint) from None
        yield found
