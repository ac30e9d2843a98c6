"""What the model card measures: the models run on held-out sentences, and the share of right pronouns."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import ModuleType

import grammar
import numpy as np
from sentence import Entity, Reference, Sentence

import attn_cli
from attn_cli.checkpoint import safetensors
from attn_cli.metrics import induction as induction_metric
from attn_cli.metrics import previous_token as previous_token_metric
from attn_cli.model import Model
from attn_cli.tokens import Tokens

EMBEDDING = "bert.embeddings.word_embeddings.weight"
SUBJECT_FORM = {
    "him": "he",
    "his": "he",
    "himself": "he",
    "her": "she",
    "herself": "she",
    "its": "it",
    "itself": "it",
    "them": "they",
    "their": "they",
    "themselves": "they",
}


@dataclass(frozen=True)
class Run:
    """A text run through a model: its tokens, attention (layers, heads, queries, keys), and the id named at a row."""

    tokens: Tokens
    attn: np.ndarray
    named: Callable[[int], int]


@cache
def model(folder: Path) -> Model:
    return attn_cli.load(folder)


@cache
def output_layer(folder: Path) -> dict[str, np.ndarray]:
    found = safetensors.open(folder / "model.safetensors")
    names = [name for name in found.tensors if name.startswith("cls.")]
    return {name: found.read(name) for name in [*names, EMBEDDING] if names}


def name_at(folder: Path, x: np.ndarray) -> int:
    """The id that the output layer of a masked model names for one row of the last layer's output."""
    w = output_layer(folder)
    if not w:
        return -1
    base = "cls.predictions.transform."
    x = w[base + "dense.weight"] @ x + w[base + "dense.bias"]
    x = x * 0.5 * (1 + np.array([math.erf(v / math.sqrt(2)) for v in x]))
    x = (x - x.mean()) / np.sqrt(x.var() + 1e-12)
    x = x * w[base + "LayerNorm.weight"] + w[base + "LayerNorm.bias"]
    return int((w[EMBEDDING] @ x + w["cls.predictions.bias"]).argmax())


def run(folder: Path, text: str) -> Run:
    a = model(folder).attend(text, keep=("last_block_output",))
    return Run(a.tokens, a.attn, lambda row: name_at(folder, a.kept["last_block_output"][row]))


def word_spans(s: Sentence) -> list[tuple[int, int]]:
    """Where each word of a sentence stands in its text."""
    spans, at, text = [], 0, s.text
    for word in s.words:
        at = text.index(word, at)
        spans.append((at, at + len(word)))
        at += len(word)
    return spans


def tokens_in(tokens: Tokens, span: tuple[int, int]) -> list[int]:
    return [i for i, s in enumerate(tokens.spans) if s and s[0] < s[1] and s[0] < span[1] and s[1] > span[0]]


@dataclass
class Tally:
    """Counts over the pronouns of one set."""

    count: int = 0
    named: int = 0
    pointed: np.ndarray | None = None  # (layers, heads)
    weight: np.ndarray | None = None
    nearest: int = 0
    first: int = 0
    nearest_agreeing: int = 0
    first_agreeing: int = 0
    contested: int = 0
    contested_pointed: np.ndarray | None = None

    def add(self, attn: np.ndarray, named: bool, guesses: list[bool], contested: bool) -> None:
        """`attn` is the summed weight on the right noun, (layers, heads)."""
        hit = (attn > 0.5).astype(int)
        zero = np.zeros_like(hit)
        self.pointed = (zero if self.pointed is None else self.pointed) + hit
        self.weight = (zero if self.weight is None else self.weight) + attn
        self.contested_pointed = (zero if self.contested_pointed is None else self.contested_pointed) + hit * contested
        self.count += 1
        self.contested += contested
        self.named += named
        for name, guess in zip(("nearest", "first", "nearest_agreeing", "first_agreeing"), guesses, strict=True):
            setattr(self, name, getattr(self, name) + guess)


def guesses(s: Sentence, position: int, targets: tuple[int, ...], pool: list[Entity]) -> list[bool]:
    """Whether the nearest and the first noun of a pool are right; a noun before counts as nearer than one after."""
    heads = sorted({e.heads[-1] for e in pool})
    if not heads:
        return [False, False]
    before = [h for h in heads if h < position]
    return [(before[-1] if before else heads[0]) in targets, heads[0] in targets]


def agreeing(s: Sentence, pronoun: str) -> list[Entity]:
    form = SUBJECT_FORM.get(pronoun, pronoun)
    lists = {h for e in s.entities if len(e.heads) > 1 for h in e.heads}
    return [e for e in s.entities if e.agrees(form) and not (len(e.heads) == 1 and set(e.heads) & lists)]


def pronouns(
    folder: Path, sentences: Iterable[Sentence], wanted: Callable[[Sentence, Reference], bool], causal: bool = False
) -> Tally:
    """Every wanted pronoun of the sentences; for a causal model, the row of the word that decides it."""
    tally = Tally()
    for s in sentences:
        refs = [r for r in s.references if wanted(s, r)]
        if causal:
            refs = [r for r in refs if r.decider > r.position and max(r.targets) < r.decider]
        if not refs:
            continue
        ran, spans = run(folder, s.text), word_spans(s)
        for ref in refs:
            row = tokens_in(ran.tokens, spans[ref.decider if causal else ref.position])[0]
            pieces = [tokens_in(ran.tokens, spans[t]) for t in ref.targets]
            weight = ran.attn[:, :, row, [c for p in pieces for c in p]].sum(-1)
            named = ran.named(row) in {ran.tokens.ids[p[0]] for p in pieces}
            nouns = [x for x in s.entities if x.heads]
            fits = agreeing(s, s.words[ref.position].lower())
            contested = any(not set(x.heads) & set(ref.targets) for x in fits)
            tally.add(
                weight,
                named,
                guesses(s, ref.position, ref.targets, nouns) + guesses(s, ref.position, ref.targets, fits),
                contested,
            )
    return tally


def by_hand(folder: Path, probe: Path) -> tuple[Tally, list[str]]:
    """The sentences of probe.txt, written without the grammar, and those that the last layer's first head misses.

    In an answer `it2=dog` is the second "it", `they=king+queen` a list.
    """
    tally, missed = Tally(), []
    for line in probe.read_text().splitlines():
        text, answers = line.split(" | ")
        ran = run(folder, text)
        for answer in answers.split(", "):
            pronoun, nouns = answer.split("=")
            which = int(pronoun[-1]) if pronoun[-1].isdigit() else 1
            found = [m.span() for m in re.finditer(rf"\b{pronoun.rstrip('0123456789')}\b", text)]
            row = tokens_in(ran.tokens, found[which - 1])[0]
            pieces = [tokens_in(ran.tokens, m.span()) for n in nouns.split("+") for m in re.finditer(rf"\b{n}\b", text)]
            weight = ran.attn[:, :, row, [c for p in pieces for c in p]].sum(-1)
            tally.add(weight, ran.named(row) in {ran.tokens.ids[p[0]] for p in pieces}, [False] * 4, False)
            if weight[-1, 0] <= 0.5:
                missed.append(f"{text} ({pronoun}: {weight[-1, 0]:.2f} on {nouns})")
    return tally, missed


def random_texts(folder: Path, count: int, length: int, seed: int) -> list[list[int]]:
    size = model(folder).spec.vocab_size
    return np.random.default_rng(seed).integers(5, size, (count, length)).tolist()


def mean_score(folder: Path, metric: ModuleType, texts: Iterable[list[int]], first: int = 0) -> np.ndarray:
    """A metric's mean over the queries that it applies to, from row `first` on: (layers, heads)."""
    ran = model(folder)
    total = count = np.zeros((ran.spec.n_layers, ran.spec.n_heads))
    for ids in texts:
        scores = np.full((*total.shape, len(ids)), np.nan)
        tokens = replace(Tokens.given([str(i) for i in ids]), ids=tuple(ids))
        for block in ran.blocks(tokens):
            scores[block.layer][:, block.queries.start : block.queries.stop] = metric.score(block)
        rows = scores[..., first:]
        total, count = total + np.nansum(rows, -1), count + (~np.isnan(rows)).sum(-1)
    return total / count


def previous_token(folder: Path, texts: list[list[int]]) -> np.ndarray:
    """Mean weight on the token before, (layers, heads), over all rows but the first."""
    return mean_score(folder, previous_token_metric, texts)


def induction(folder: Path, count: int = 40, half: int = 50, seed: int = 7) -> np.ndarray:
    """Random tokens twice: mean weight of the second copy on what came after the earlier one, (layers, heads)."""
    twice = [once + once for once in random_texts(folder, count, half, seed)]
    return mean_score(folder, induction_metric, twice, half)


def held_out(split: str, count: int, seed: int) -> list[Sentence]:
    return list(grammar.generate(seed, count, split))
