"""Small reports for the tests of the renderers: chosen weights, and tokens that have broken other tools."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from attn_cli.render import Target
from attn_cli.report import Axis, Head, Note, Report, Special, Token, Top

HOSTILE = (
    "[/INST]",
    "[red]",
    "\x1b[31m",
    "</script>",
    "\n",
    "\t",
    "\r\n",
    " ",
    "  ",
    "\u202eabc",
    "日本",
    "👨\u200d👩\u200d👧",
    "🇫🇷",
    "❤\ufe0f",
    "\ud83d",
    "x" * 200,
    "",
    "é",
    "\u0301",
    "z" + "\u0301" * 30,
    "\u200b",
    "\u00ad",
    "\u2028",
    "\x00",
    "\x9b31m",
    ":smile:",
    "\ufeff",
    "\U000e0041",
    "&<>\"'",
)
SENTENCE = ("[CLS]", "the", "animal", "was", "too", "tired", "##est", ".", "the", "[SEP]")


def axis(texts: Sequence[str], chosen: Sequence[int] | None = None) -> Axis:
    """An axis of pieces: BERT's brackets are special, `##` marks a piece that continues a word."""
    index = range(len(texts)) if chosen is None else chosen
    special: list[Special | None] = ["added" if texts[i] in ("[CLS]", "[SEP]") else None for i in index]
    return Axis(
        positions=tuple(index),
        texts=tuple(texts[i].removeprefix("##") for i in index),
        special=tuple(special),
        continues=tuple(texts[i].startswith("##") for i in index),
        repeated=tuple(list(texts).count(texts[i]) > 1 for i in index),
        unknown=(False,) * len(index),
    )


def softmax(n: int, keys: int, seed: int, causal: bool = False) -> np.ndarray:
    """Rows of weights that sum to one, some of them close to 0 or 1."""
    scores = np.random.default_rng(seed).normal(size=(n, keys)) * 2.5
    if causal:
        scores = np.where(np.tril(np.ones((n, keys), dtype=bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def tops(attn: np.ndarray, k: int) -> tuple[Top, ...]:
    order = np.argsort(-attn, axis=1, kind="stable")[:, :k]
    return tuple(Top(query=i, keys=tuple((int(j), float(attn[i, j])) for j in row)) for i, row in enumerate(order))


def head(
    texts: Sequence[str] = SENTENCE,
    *,
    name: tuple[int, int] = (0, 0),
    attn: np.ndarray | None = None,
    causal: bool = False,
    queries: Sequence[int] | None = None,
    k: int = 5,
    **fields: Any,
) -> Head:
    """One head over a sentence, with weights drawn from its name unless they are given."""
    rows = list(range(len(texts))) if queries is None else list(queries)
    drawn = softmax(len(texts), len(texts), 100 * name[0] + name[1], causal) if attn is None else attn
    drawn = drawn[rows]
    seen = np.tril(np.ones((len(texts), len(texts)), dtype=bool))[rows] if causal else None
    whole: dict[str, Any] = {
        "kind": "self",
        "layer": name[0],
        "head": name[1],
        "queries": axis(texts, rows),
        "keys": axis(texts),
        "attn": drawn,
        "visible": seen,
        "top": tops(drawn, k),
    }
    return Head(**{**whole, **fields})


def report(heads: Sequence[Head] | None = None, texts: Sequence[str] = SENTENCE, **fields: Any) -> Report:
    """A report of the given heads, or of two over the sentence."""
    whole: dict[str, Any] = {
        "schema": "attn-cli.show/1",
        "version": "0.1.0",
        "text": " ".join(texts),
        "title": "tiny",
        "model": {
            "source": "tiny",
            "family": "bert",
            "weights": "loaded",
            "embeddings": "loaded",
            "seed": None,
            "n_layers": 2,
            "n_heads": 4,
            "d_model": 32,
            "causal": False,
            "dtype": "float32",
        },
        "tokens": tuple(
            Token(position=i, id=i + 100, piece=text, text=text.removeprefix("##"), start=i, end=i + 1)
            for i, text in enumerate(texts)
        ),
        "heads": tuple(heads) if heads is not None else (head(texts), head(texts, name=(1, 2))),
        "shown": "2 of 8 heads shown; others: --layer, --head",
    }
    return Report(**{**whole, **fields})


def random_report(**fields: Any) -> Report:
    """As `report`, of random weights and with a warning."""
    made = report(**fields)
    model = {**made.model, "weights": "random", "embeddings": "random", "seed": 7, "family": None}
    return replace(made, model=model, notes=(Note(text="rows do not sum to one", kind="warning"),))


class Stream(io.StringIO):
    """A text stream that claims an encoding, and refuses what that cannot hold."""

    def __init__(self, encoding: str | None = None, tty: bool = False) -> None:
        super().__init__()
        self._encoding, self._tty = encoding, tty

    @property
    def encoding(self) -> str | None:  # type: ignore[override]
        return self._encoding

    def isatty(self) -> bool:
        return self._tty

    def write(self, text: str) -> int:
        if self._encoding:
            text.encode(self._encoding)
        return super().write(text)


def rendered(module: Any, made: Report, **target: Any) -> str:
    """What a renderer writes; a target 80 cells wide unless told otherwise."""
    stream = target.pop("stream", None) or Stream()
    module.write(made, Target(stream, **{"width": 80, **target}))
    return str(stream.getvalue())


def bare(text: str) -> str:
    """Text without colour codes."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
