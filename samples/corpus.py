"""Sentences of the grammar as token ids with their links, and the batches that training takes from them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from grammar import NO_SPACE_BEFORE, Sentence
from tokenizers import Tokenizer

MAX_TARGETS = 6
PRONOUN, SUBJECT, PHRASE = 0, 1, 2


@dataclass
class Example:
    """One text: ids without special tokens, and links (kind, row, decider row or -1, target columns)."""

    ids: list[int]
    links: list[tuple[int, int, int, tuple[int, ...]]]


class Encoder:
    """Words to ids, piece for piece what the tokenizer makes of the whole text."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.size = tokenizer.get_vocab_size()
        self.cache: dict[tuple[str, bool], list[int]] = {}

    def word(self, word: str, spaced: bool) -> list[int]:
        key = (word, spaced)
        if key not in self.cache:
            encode = self.tokenizer.encode
            # a letter before keeps the word from standing at the start of the text
            ids = encode(word if spaced else "a" + word, add_special_tokens=False).ids
            self.cache[key] = ids if spaced else ids[1:]
        return self.cache[key]

    def encode(self, s: Sentence, noise: random.Random | None = None) -> Example:
        """`noise` sometimes writes a noun as one that the grammar does not know, or leaves off capital or full stop."""
        words, replaced = list(s.words), {}
        if noise:
            roll = noise.random()
            if roll < 0.05 and s.nouns:
                pieces = [noise.randrange(5, self.size) for _ in range(noise.choice((1, 1, 2, 3)))]
                replaced[noise.choice(s.nouns)] = pieces
            elif roll < 0.09:
                words[0] = words[0].lower()
            if noise.random() < 0.06 and words[-1] == ".":
                words.pop()
        spaced = s.pattern != "chinese"
        ids: list[int] = []
        spans: list[tuple[int, ...]] = []
        for i, word in enumerate(words):
            pieces = replaced.get(i) or self.word(word, spaced and word not in NO_SPACE_BEFORE)
            spans.append(tuple(range(len(ids), len(ids) + len(pieces))))
            ids.extend(pieces)
        links = []
        for ref in s.references:
            targets = tuple(t for at in ref.targets for t in spans[at])
            decider = spans[ref.decider][0] if 0 <= ref.decider < len(spans) else -1
            links.append((PRONOUN, spans[ref.position][0], decider, targets[:MAX_TARGETS]))
        for kind, pairs in ((SUBJECT, s.subjects), (PHRASE, s.phrases)):
            links += [(kind, row, -1, spans[b][:MAX_TARGETS]) for a, b in pairs for row in spans[a][:1]]
        return Example(ids, links)


@dataclass
class Store:
    """Many examples in flat arrays."""

    ids: np.ndarray
    id_starts: np.ndarray
    links: np.ndarray
    link_starts: np.ndarray

    @classmethod
    def of(cls, examples: list[Example]) -> Store:
        rows = [(k, r, d, *t, *([-1] * (MAX_TARGETS - len(t)))) for e in examples for k, r, d, t in e.links]
        return cls(
            np.array([i for e in examples for i in e.ids], np.int16),
            np.cumsum([0, *(len(e.ids) for e in examples)]),
            np.array(rows, np.int16).reshape(-1, 3 + MAX_TARGETS),
            np.cumsum([0, *(len(e.links) for e in examples)]),
        )

    @classmethod
    def join(cls, parts: list[Store]) -> Store:
        def chain(starts: list[np.ndarray]) -> np.ndarray:
            return np.concatenate([[0], np.cumsum(np.concatenate([np.diff(s) for s in starts]))])

        return cls(
            np.concatenate([p.ids for p in parts]),
            chain([p.id_starts for p in parts]),
            np.concatenate([p.links for p in parts]),
            chain([p.link_starts for p in parts]),
        )

    def __len__(self) -> int:
        return len(self.id_starts) - 1


@dataclass
class Batch:
    ids: np.ndarray
    types: np.ndarray
    real: np.ndarray
    links: np.ndarray
    """Rows (text, kind, row, decider, targets...), positions within the padded text."""
    repeats: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    """Per text, the period of a repeated random sequence, 0 for sentences."""


def assemble(store: Store, texts: list[list[list[int]]], frame: tuple[list[int], list[int]], limit: int) -> Batch:
    """Pad texts into one batch; a text is a list of segments, a segment a list of examples."""
    first, last = frame
    rows_ids, rows_types, links = [], [], []
    for t, segments in enumerate(texts):
        ids, types = [np.array(first, np.int64)], [np.zeros(len(first), np.int64)]
        length = len(first)
        for kind, segment in enumerate(segments):
            for e in segment:
                part = store.ids[store.id_starts[e] : store.id_starts[e + 1]]
                if length + len(part) + len(last) > limit:
                    break
                found = store.links[store.link_starts[e] : store.link_starts[e + 1]].astype(np.int64)
                moved = np.where(found >= 0, found + length, -1)
                moved[:, 0] = found[:, 0]
                links.append(np.concatenate([np.full((len(found), 1), t), moved], axis=1))
                ids.append(part.astype(np.int64))
                types.append(np.full(len(part), kind))
                length += len(part)
            ids.append(np.array(last, np.int64))
            types.append(np.full(len(last), kind))
            length += len(last)
        rows_ids.append(np.concatenate(ids))
        rows_types.append(np.concatenate(types))
    n = max(len(r) for r in rows_ids)
    shape = (len(texts), n)
    out_ids, out_types, real = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape, bool)
    for t, (row, kinds) in enumerate(zip(rows_ids, rows_types, strict=True)):
        out_ids[t, : len(row)], out_types[t, : len(row)], real[t, : len(row)] = row, kinds, True
    return Batch(out_ids, out_types, real, np.concatenate(links), np.zeros(len(texts), np.int64))


def repeated(rng: np.random.Generator, count: int, half: int, size: int, frame: tuple[list[int], list[int]]) -> Batch:
    """Random tokens, written twice."""
    first, last = frame
    once = rng.integers(5, size, (count, half))
    parts = [np.tile(first, (count, 1)), once, once, np.tile(last, (count, 1))]
    ids = np.concatenate([p.astype(np.int64) for p in parts if p.size], axis=1)
    empty = np.zeros((0, 4 + MAX_TARGETS), np.int64)
    return Batch(ids, np.zeros_like(ids), np.ones(ids.shape, bool), empty, np.full(count, half))


def batches(
    store: Store,
    seed: int,
    tokens: int,
    limit: int,
    size: int,
    frame: tuple[list[int], list[int]],
    mix: tuple[float, float, float, float],
) -> Iterator[Batch]:
    """Without end: single sentences, two together, long texts, and repeated random tokens, mixed by `mix`."""
    rng = np.random.default_rng(seed)
    lengths = np.diff(store.id_starts)
    order: np.ndarray = np.zeros(0, np.int64)

    def take(count: int) -> np.ndarray:
        nonlocal order
        if len(order) < count:
            order = np.concatenate([order, rng.permutation(len(store))])
        taken, order = order[:count], order[count:]
        return taken

    queue: list[np.ndarray] = []
    while True:
        mode = rng.choice(4, p=mix)
        if mode == 0:
            if not queue:
                # sorted by length inside a block: little padding, still mixed
                block = take(8192)
                block = block[np.argsort(lengths[block], kind="stable")]
                start = 0
                while start < len(block):
                    width = max(1, tokens // (int(lengths[block[min(start + 255, len(block) - 1)]]) + 2))
                    queue.append(block[start : start + width])
                    start += width
                rng.shuffle(queue)
            yield assemble(store, [[[int(e)]] for e in queue.pop()], frame, limit)
        elif mode == 1:
            pairs = take(2 * (tokens // 44)).reshape(-1, 2)
            yield assemble(
                store,
                [[[a], [b]] if rng.random() < 0.4 else [[a, b]] for a, b in pairs.tolist()],
                frame,
                limit,
            )
        elif mode == 2:
            per = int(rng.integers(3, 14))
            rows = take(per * max(1, tokens // (per * 18))).reshape(-1, per)
            yield assemble(store, [[row] for row in rows.tolist()], frame, limit)
        else:
            half = int(rng.integers(4, (limit - 2) // 2 + 1))
            yield repeated(rng, max(2, tokens // (2 * half)), half, size, frame)
