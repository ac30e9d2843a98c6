"""A sentence with its annotations, and which pairs of words the held-out sets keep for themselves."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

import lexicon as lx

CLOSED = frozenset("it he she they him her them his its their himself herself itself themselves".split())
CAUSE = ("because", "because", "because", "since", "as")
CONCESSION = ("although", "though", "but", "even though", "yet")
TIME = ("when", "while", "after", "before", "until", "as soon as")
SPEAKERS = ("I", "I", "we", "we", "you", "nobody", "everyone", "somebody")
NO_SPACE_BEFORE = frozenset({",", ".", "?", "!", ";", ":", "'s"})


@dataclass
class Entity:
    """A noun phrase that a pronoun may stand for: its words, kinds and agreement."""

    nouns: tuple[str, ...]
    kinds: frozenset[str]
    plural: bool
    heads: tuple[int, ...] = ()
    gender: str | None = None

    def agrees(self, pronoun: str) -> bool:
        if pronoun == "they":
            return self.plural
        if self.plural:
            return False
        if pronoun == "it":
            return not self.kinds & lx.PEOPLE
        if not self.kinds & lx.PEOPLE:
            return False
        return self.gender is None or self.gender == ("m" if pronoun == "he" else "f")


@dataclass
class Reference:
    """One pronoun: its word, the words of the right noun, and the word that decides (-1 where agreement alone does)."""

    position: int
    targets: tuple[int, ...]
    decider: int = -1


@dataclass
class Sentence:
    words: list[str] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    subjects: list[tuple[int, int]] = field(default_factory=list)
    """Pairs (verb, head of its subject)."""
    phrases: list[tuple[int, int]] = field(default_factory=list)
    """Pairs (determiner or adjective, the noun it belongs to)."""
    entities: list[Entity] = field(default_factory=list)
    pattern: str = ""
    features: set[str] = field(default_factory=set)
    judged: set[tuple[str, str]] = field(default_factory=set)
    """Pairs (noun, adjective) that the sentence says together."""

    def add(self, text: str) -> int:
        """Append the words of `text`; gives the position of the last."""
        self.words.extend(text.split())
        return len(self.words) - 1

    @property
    def text(self) -> str:
        if self.pattern == "chinese":
            return "".join(self.words)
        out = ""
        for word in self.words:
            out += word if not out or word in NO_SPACE_BEFORE else " " + word
        return out

    @property
    def nouns(self) -> list[int]:
        return sorted({head for entity in self.entities for head in entity.heads})


class Reject(Exception):
    """The composition has no single right reading; another is drawn."""


def reserved(left: str, right: str, share: int, salt: str) -> bool:
    """Whether a pair of words belongs to a held-out set. The words of the README's example never do."""
    if {left, right} & {"animal", "street"}:
        return False
    return zlib.crc32(f"{salt}:{left}:{right}".encode()) % 100 < share


def reserved_pair(noun: str, adjective: str) -> bool:
    return reserved(noun, adjective, 8, "pair")


def reserved_meeting(a: str, b: str) -> bool:
    return a != b and reserved(min(a, b), max(a, b), 4, "filler")
