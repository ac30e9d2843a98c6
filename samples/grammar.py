"""A grammar of English for the demonstration models: sentences whose pronouns have exactly one right noun.

A sentence is composed from noun phrases, clauses and connectives, not from fixed templates: any noun phrase may take
an adjective, a possessor, a preposition phrase or a relative clause; any clause may take an adverb, a place or a time;
clauses chain. Each pronoun carries its noun: the only noun of its sentence that agrees with it in number and gender
and that its predicate can be said of (`words.ADJECTIVES` and the verb lists). Where two nouns of one kind compete, a
frame decides (`frames.FRAMES`: what fears is scared, what is lifted is heavy), or the subject wins.

    for sentence in generate(seed=1, count=3): print(sentence.text)

Patterns (`patterns.PATTERNS`): connective, fronted, copular, so_that, too_to, object, possessive, reported,
question, reflexive, frame, ditransitive, gender, subject_wins, names, participle, repeated, consequence, plain.

The held-out sets, none of which `split="train"` ever yields:

- `fillers`: sentences whose right noun and a rival noun are a pair of words that never meet in a training sentence;
- `pairs`: the right noun and its deciding adjective are a pair that never occurs together in training;
- `patterns`: constructions that training never shows with a pronoun to resolve (`HELD_OUT_PATTERNS`): a passive main
  clause with a reason, a report around a whole sentence, two joined verbs with a reason, an if clause,
  "the reason why".

`vocabulary()` lists every word the grammar can use.
"""

from __future__ import annotations

from collections.abc import Iterator

import lexicon as lx
import patterns as p
from composer import Composer, Pattern
from frames import FRAMES
from sentence import (
    CLOSED,
    NO_SPACE_BEFORE,
    Entity,
    Reference,
    Reject,
    Sentence,
    reserved_meeting,
    reserved_pair,
)

SPLITS = ("train", "fillers", "pairs", "patterns")


def finish(c: Composer) -> Sentence:
    """Close the sentence: the final stop, capitals, and the checks that make it one of its set."""
    s = c.s
    if s.words[-1] not in (".", "?", "!"):
        s.add("!" if c.chance(0.03) else ".")
    for i, word in enumerate(s.words):
        if i == 0 or s.words[i - 1] in (".", "?", "!"):
            s.words[i] = word[0].upper() + word[1:]
    return s


def belongs(s: Sentence, split: str) -> bool:
    """Whether a sentence may stand in a split."""
    if split == "train":
        return not s.features & {"fillers", "pairs", "held_out"}
    if len(s.references) == 0:
        return False
    if split == "patterns":
        return "held_out" in s.features and not s.features & {"fillers", "pairs"}
    return split in s.features and not s.features & ({"fillers", "pairs", "held_out"} - {split})


def compose(c: Composer, patterns: dict[str, tuple[int, Pattern]]) -> Sentence:
    while True:
        name = c.r.choices(list(patterns), [w for w, _ in patterns.values()])[0]
        c.s = Sentence(pattern=name)
        c.past = c.chance(0.78)
        try:
            if c.chance(0.14):
                c.opener()
            patterns[name][1](c)
        except Reject:
            continue
        if len(c.s.words) <= 44:
            return finish(c)


def generate(seed: int, count: int, split: str = "train") -> Iterator[Sentence]:
    """`count` sentences of a split, the same ones for the same seed."""
    if split not in SPLITS:
        raise ValueError(f"split must be one of {SPLITS}")
    c = Composer(seed)
    table = p.HELD_OUT_PATTERNS if split == "patterns" else p.PATTERNS
    made = 0
    while made < count:
        s = compose(c, table)
        if split == "patterns":
            s.features.add("held_out")
        if belongs(s, split) and (split in ("train", "patterns") or scored(s, split)):
            made += 1
            yield s


def scored(s: Sentence, split: str) -> bool:
    """Whether some pronoun of the sentence meets what its held-out set asks of it."""
    return any(meets(s, ref, split) for ref in s.references)


def meets(s: Sentence, ref: Reference, split: str) -> bool:
    """Whether a pronoun's right noun is in the pair that its held-out set is about."""
    nouns = {n for e in s.entities if set(e.heads) & set(ref.targets) for n in e.nouns}
    if split == "pairs":
        return ref.decider >= 0 and any(reserved_pair(n, s.words[ref.decider].lower()) for n in nouns)
    if split == "fillers":
        others = {n for e in s.entities for n in e.nouns} - nouns
        return any(reserved_meeting(a, b) for a in nouns for b in others)
    return True


def vocabulary() -> list[str]:
    """Every word the grammar can use, lower case except names and days, sorted."""
    return sorted(lx.all_words() | {w for f in FRAMES for w in f.words()} | set(p.FUNCTION_WORDS.split()))


__all__ = [
    "CLOSED",
    "NO_SPACE_BEFORE",
    "SPLITS",
    "Entity",
    "Reference",
    "Sentence",
    "belongs",
    "generate",
    "meets",
    "reserved_pair",
    "vocabulary",
]
