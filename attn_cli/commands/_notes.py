"""What the reader should know before believing a picture: of the model, and of how it reads the text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from attn_cli.report import Note

if TYPE_CHECKING:
    from attn_cli.commands.show import Request
    from attn_cli.model import Model
    from attn_cli.tokens import Tokens

MANY = 0.3  # a text with a larger share of words that the model cannot know says little of it


def unknown_words(model: Model, tokens: Tokens) -> float:
    """The share of a text's words that a model of small vocabulary was not made for; 0 for every other model."""
    known = model.known_words
    if known is None or tokens.text is None:
        return 0.0
    words = re.findall(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*", f"{tokens.text} {tokens.pair or ''}".casefold())
    letters = frozenset("".join(known))
    strange = [w for w in words if w not in known and not (_unspaced(w) and letters.issuperset(w))]
    return len(strange) / len(words) if words else 0.0


def _unspaced(word: str) -> bool:
    """Chinese is written without spaces: what looks like a word is a clause, to be judged by its characters."""
    return all("\u3400" <= c <= "\u9fff" for c in word)


def notes(model: Model, tokens: Tokens, request: Request, others: Iterable[Tokens] = ()) -> Iterator[Note]:
    """What the reader should know before believing the picture, of the first text and, where there are several, of `others`."""
    for line in model.provenance.notes:
        yield Note(text=line, kind="warning")
    strange = unknown_words(model, tokens)
    if strange > MANY:
        yield Note(
            text=f"{strange * 100:.0f} % of these words are unknown to this small model, so its picture means little; "
            "try a larger one: -m MODEL (attn-cli models lists yours)"
        )
    yield from lacking((tokens, *others))
    for key in model.spec.ignored_keys:
        yield Note(text=f"config key {key} ignored on request: the numbers may be wrong", kind="warning")
    n_ctx = model.spec.n_ctx
    if n_ctx is not None and len(tokens) > n_ctx:
        yield Note(text=f"{len(tokens)} tokens; the model was made for {n_ctx}", kind="warning")
    if len(tokens) > 1 and tokens.special[:2] == ("added", "typed") and tokens.ids[0] == tokens.ids[1]:
        yield Note(
            text=f"the text begins with {tokens.pieces[0]}, which the tokenizer adds as well: it stands twice "
            "(--no-added leaves the added one out)",
            kind="warning",
        )
    if tokens.target is not None and request.target is None:
        yield Note(
            text=f"no --target: the decoder has read only {tokens.target.texts[0]}, which it always starts with; "
            "--target TEXT gives it more"
        )


def lacking(texts: Iterable[Tokens]) -> Iterator[Note]:
    """How many words the vocabulary lacks: the model sees the same for each of them."""
    words, without, piece = 0, 0, ""
    for side in (s for tokens in texts for s in (tokens, tokens.target) if s is not None):
        words += len({word for word in side.words if word is not None})
        found = [i for i, lacks in enumerate(side.unknown) if lacks]
        without += len({side.words[i] for i in found})
        piece = side.pieces[found[0]] if found else piece
    if without:
        yield Note(
            text=f"{without} of {words} words {'is' if without == 1 else 'are'} not in this model's vocabulary: "
            f"it reads {piece} instead",
            kind="warning" if without > MANY * words else "info",
        )
