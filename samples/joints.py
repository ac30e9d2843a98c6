"""What the patterns are joined with: connectives, further clauses, object pronouns, second verbs."""

from __future__ import annotations

import lexicon as lx
from composer import Composer
from sentence import CAUSE, CONCESSION, TIME, Entity, Reject


def link(c: Composer, words: tuple[str, ...], comma: float = 0.2) -> str:
    word = c.r.choice(words)
    if word in (".", ";"):
        c.s.add(word)
        return word
    if c.chance(comma):
        c.s.add(",")
    c.s.add(word)
    return word


def connect(c: Composer) -> None:
    """Write a connective before a clause about a noun of the sentence."""
    roll = c.r.random()
    if roll < 0.45:
        link(c, CAUSE, 0.1)
    elif roll < 0.57:
        link(c, ("so", "so", "and", "and so"), 0.8)
    elif roll < 0.70:
        link(c, CONCESSION, 0.5)
    elif roll < 0.80:
        link(c, TIME, 0.15)
    elif roll < 0.94:
        c.s.add(".")
    else:
        link(c, (";", ", and", ", for", "and"), 0)


def tail(c: Composer) -> None:
    """Perhaps a further clause: another noun's, or one more pronoun."""
    roll = c.r.random()
    if len(c.s.words) > 26 or roll > 0.3:
        return
    if roll < 0.10:
        link(c, ("so", "and", "but", "."), 0.7)
        name = c.fresh(lx.kinds("name_m name_f"))
        c.place(name)
        group = c.r.choice([g for g in lx.EVENT_GROUPS if name.kinds <= g.subjects])
        c.verb(c.r.choice(group.verbs), name, plain=True)
        if group.prepositions:
            c.s.add(c.r.choice(group.prepositions))
        c.place(c.fresh(group.objects), bare=True)
    else:
        connect(c)
        c.pronoun_clause(c.any_entity())


def object_pronoun(c: Composer, e: Entity, subject: Entity, allowed: frozenset[str]) -> None:
    """Write `e` as an object, where no other noun but the clause's own subject would do."""
    if any(x is not subject and x.kinds & allowed for x in c.rivals(e)):
        raise Reject
    c.refer(e, "object").decider = len(c.s.words) - 1


def joined_verb(c: Composer, subject: Entity) -> Entity:
    options = [g for g in lx.EVENT_GROUPS if subject.kinds <= g.subjects]
    g = c.r.choice(options)
    c.verb(c.r.choice(g.verbs), subject)
    if g.prepositions:
        c.s.add(c.r.choice(g.prepositions))
    other = c.fresh(g.objects)
    c.place(other, bare=True)
    return other
