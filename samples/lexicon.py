"""Word forms and look-ups over the word lists: plurals, verb forms, and which words go with which kinds of noun."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import words as w

VOWELS = "aeiou"
HARD_H = ("hour", "honest", "heir")


@dataclass(frozen=True)
class Verb:
    base: str
    third: str
    past: str
    participle: str
    ing: str


@dataclass(frozen=True)
class Group:
    """Verbs of one kind: what may be their subject and object, and the prepositions before the object."""

    name: str
    subjects: frozenset[str]
    objects: frozenset[str]
    verbs: tuple[Verb, ...]
    prepositions: tuple[str, ...] = ()


@cache
def kinds(text: str) -> frozenset[str]:
    return frozenset(text.split())


def add_s(word: str) -> str:
    if word.endswith("y") and word[-2] not in VOWELS:
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "z", "ch", "sh")) or word in ("go", "do") else "s")


def plural(noun: str) -> str:
    return w.IRREGULAR_PLURALS.get(noun) or add_s(noun)


@cache
def verb(entry: str) -> Verb:
    base, *irregular = entry.split("/")
    stem = base + base[-1] if base in w.DOUBLED else base
    past = stem + "ed"
    if base.endswith("e"):
        past = base + "d"
    elif base.endswith("y") and base[-2] not in VOWELS:
        past = base[:-1] + "ied"
    ing = stem + "ing"
    if base.endswith("ie"):
        ing = base[:-2] + "ying"
    elif base.endswith("e") and not base.endswith(("ee", "ye")):
        ing = base[:-1] + "ing"
    past, participle = irregular or (past, past)
    return Verb(base, add_s(base), past, participle, ing)


def finite(entry: str, past: bool, plural_subject: bool) -> str:
    v = verb(entry)
    return v.past if past else v.base if plural_subject else v.third


def article(following: str) -> str:
    vowel = following[0] in VOWELS and not following.startswith(("uni", "use", "euro", "one", "ukulele"))
    return "an" if vowel or following.startswith(HARD_H) else "a"


NOUNS: dict[str, list[str]] = {k: v.split() for k, v in w.NOUNS.items()}
NOUNS["name_m"], NOUNS["name_f"] = w.NAMES_M.split(), w.NAMES_F.split()
NOUN_SETS = {k: frozenset(v) for k, v in NOUNS.items()}
KIND_OF = {noun: kind for kind, nouns in NOUNS.items() for noun in nouns}
PEOPLE, ANIMATE, PLACES = kinds(w.PEOPLE), kinds(w.ANIMATE), kinds(w.PLACES)
THINGS = kinds(w.THINGS)
MASS = w.MASS
ALL_KINDS = frozenset(NOUNS) - {"part"}


class _KindLists(dict[frozenset[str], list[str]]):
    """The kinds to draw from, each as often as its list is long, within limits."""

    def __missing__(self, key: frozenset[str]) -> list[str]:
        self[key] = [k for k in sorted(key) for _ in range(min(8, max(3, len(NOUNS[k]) // 8)))]
        return self[key]


KIND_LISTS = _KindLists()

ADJECTIVE_KINDS: dict[str, frozenset[str]] = {}
for _where, _text in w.ADJECTIVES.items():
    for _word in _text.split():
        ADJECTIVE_KINDS[_word] = ADJECTIVE_KINDS.get(_word, frozenset()) | kinds(_where)
SIZES = w.SIZES.split()
for _word in SIZES:
    ADJECTIVE_KINDS.setdefault(_word, ALL_KINDS)
PREDICATIVE_ONLY = frozenset("asleep afraid awake alive ill sorry ready over late far alert upset".split())
ATTRIBUTES = {
    kind: [a for a, ks in ADJECTIVE_KINDS.items() if kind in ks and a not in PREDICATIVE_ONLY]
    + (w.COLORS.split() if kind not in PEOPLE and kind not in ("event", "idea") else [])
    + ["same", "other", "first", "last", "new", "old"]
    for kind in NOUNS
}
ATTRIBUTES["part"] = [*SIZES, "same", "other"]


@cache
def adjectives(of: frozenset[str], never: frozenset[str]) -> list[str]:
    """The adjectives that every kind in `of` can take and no kind in `never` can."""
    return [a for a, ks in ADJECTIVE_KINDS.items() if of <= ks and not never & ks]


TRANSITIVE_GROUPS = [
    Group(name, kinds(s), kinds(o), tuple(verb(v) for v in vs.split())) for name, (s, o, vs) in w.TRANSITIVE.items()
]
EVENT_GROUPS = TRANSITIVE_GROUPS + [
    Group(name, kinds(s), kinds(o), tuple(verb(v) for v in vs.split()), tuple(ps.split()))
    for name, (s, o, ps, vs) in w.PREPOSITIONAL.items()
]
_by_verb: dict[Verb, frozenset[str]] = {}
for _where, _text in w.INTRANSITIVE.items():
    for _word in _text.split():
        _by_verb[verb(_word)] = _by_verb.get(verb(_word), frozenset()) | kinds(_where)
INTRANSITIVE = list(_by_verb.items())
ANIMATE_VERBS = [v for v, ks in INTRANSITIVE if ks >= ANIMATE]
GIVE, SAY, WANT = w.GIVE.split(), w.SAY.split(), w.WANT.split()
DEGREES, ADVERBS, TIMES, OPENERS = w.DEGREES.split(), w.ADVERBS.split(), w.TIMES.split(), w.OPENERS.split()
MOMENTS, DAYS, COLORS, NUMBERS = w.MOMENTS.split(), w.DAYS.split(), w.COLORS.split(), w.NUMBERS.split()


def all_words() -> set[str]:
    out: set[str] = set(ADJECTIVE_KINDS)
    for kind, nouns in NOUNS.items():
        out.update(nouns)
        if not kind.startswith("name"):
            out.update(plural(n) for n in nouns if n not in MASS)
    verbs = [v for g in EVENT_GROUPS for v in g.verbs] + [v for v, _ in INTRANSITIVE]
    verbs += [
        verb(v)
        for v in (
            *GIVE,
            *SAY,
            *WANT,
            "look",
            "seem",
            "become/became/become",
            "get/got/got",
            "appear",
            "feel/felt/felt",
        )
    ]
    for v in verbs:
        out.update((v.base, v.third, v.past, v.participle, v.ing))
    for words in (DEGREES, ADVERBS, TIMES, MOMENTS, DAYS, COLORS, NUMBERS):
        out.update(words)
    out.update(word.lower() for word in OPENERS)
    out.update(p for g in EVENT_GROUPS for p in g.prepositions)
    return out
