"""Patterns of two clauses: a main clause, and one that says something of a noun in it."""

from __future__ import annotations

import lexicon as lx
from composer import Composer
from joints import connect, joined_verb, link, object_pronoun, tail
from sentence import Reject


def connective(c: Composer) -> None:
    """The animal didn't cross the street because it was too tired."""
    c.clause(negative=None if c.chance(0.5) else True)
    connect(c)
    c.pronoun_clause(c.any_entity())
    tail(c)


def fronted(c: Composer) -> None:
    """Because it was too tired, the animal slept; because the street was wide, the animal avoided it."""
    s = c.s
    s.add(
        c.r.choice(
            (
                "because",
                "because",
                "since",
                "as",
                "although",
                "when",
                "while",
                "after",
                "before",
                "though",
                "even though",
            )
        )
    )
    if c.chance(0.45):
        group, v, subject, other = c.contest()
        if subject.plural and other.plural:
            other.plural = False
        form = c.pronoun(subject)
        rivals = [other] if other.agrees(form) else []
        ref = c.refer(subject)
        before = len(s.entities)
        ref.decider = c.predicate(subject, ref.position, rivals)
        if any(e.agrees(form) for e in s.entities[before:]):
            raise Reject
        s.add(",")
        c.place(subject)
        ref.targets = subject.heads
        if c.pronoun(subject) != form:
            raise Reject
        c.verb(v, subject)
        if group.prepositions:
            s.add(c.r.choice(group.prepositions))
        c.place(other)
        c.adjuncts()
    elif c.chance(0.5):
        group, v, subject, other = c.contest()
        c.place(other)
        c.predicate(other, other.heads[-1], [subject])
        s.add(",")
        c.place(subject)
        c.verb(v, subject)
        if group.prepositions:
            s.add(c.r.choice(group.prepositions))
        object_pronoun(c, other, subject, group.objects)
        c.adjuncts()
    else:
        c.clause()
        s.add(",")
        c.pronoun_clause(c.any_entity())
    tail(c)


def copular(c: Composer) -> None:
    """The street was too wide, so the animal didn't cross it."""
    s = c.s
    group, v, subject, other = c.contest()
    first, second = (other, subject) if c.chance(0.6) else (subject, other)
    c.place(first)
    c.predicate(first, first.heads[-1], [], simple=True)
    c.adjuncts()
    link(c, ("so", "so", "and", "but", ".", ";", "because", "that is why"), 0.7)
    if first is other:
        c.place(subject)
        c.verb(v, subject)
        if group.prepositions:
            s.add(c.r.choice(group.prepositions))
        object_pronoun(c, other, subject, group.objects)
    else:
        if any(x.kinds & group.subjects for x in c.rivals(subject)):
            raise Reject
        ref = c.refer(subject)
        ref.decider = c.verb(v, subject, ref.position)
        if group.prepositions:
            s.add(c.r.choice(group.prepositions))
        c.place(second)
    c.adjuncts()
    tail(c)


def so_that(c: Composer) -> None:
    """The street was so wide that the animal couldn't cross it."""
    s = c.s
    group, v, subject, other = c.contest()
    first = other if c.chance(0.5) else subject
    c.place(first)
    c.adjective(first, first.heads[-1], simple=True, degree="so")
    if c.chance(0.8):
        s.add("that")
    if first is other:
        c.place(subject)
        c.verb(v, subject)
        if group.prepositions:
            s.add(c.r.choice(group.prepositions))
        object_pronoun(c, other, subject, group.objects)
    elif c.chance(0.6):
        if any(x.kinds & group.subjects for x in c.rivals(subject)):
            raise Reject
        ref = c.refer(subject)
        ref.decider = c.verb(v, subject, ref.position)
        if group.prepositions:
            s.add(c.r.choice(group.prepositions))
        c.place(other)
    else:
        c.pronoun_clause(first)
    tail(c)


def too_to(c: Composer) -> None:
    """The animal was too tired to cross the street, so it slept; it was too wide."""
    s = c.s
    group, v, subject, other = c.event(lx.ANIMATE)
    if c.chance(0.35):
        c.place(other)
        c.adjective(other, other.heads[-1], simple=True, degree="too")
        s.add("for")
        c.place(subject, bare=True)
        s.subjects.append((s.add("to " + v.base), subject.heads[-1]))
        if group.prepositions:
            s.add(c.r.choice(group.prepositions))
    else:
        c.place(subject)
        c.adjective(subject, subject.heads[-1], simple=True, degree="too")
        s.subjects.append((s.add("to " + v.base), subject.heads[-1]))
        if group.prepositions:
            s.add(c.r.choice(group.prepositions))
        c.place(other)
    connect(c)
    c.pronoun_clause(c.any_entity())


def object_(c: Composer) -> None:
    """The boy took the knife and put it in the drawer."""
    s = c.s
    group, v, subject, other = c.event()
    c.place(subject)
    c.verb(v, subject, negative=c.chance(0.1))
    if group.prepositions:
        s.add(c.r.choice(group.prepositions))
    c.place(other)
    options = [g for g in lx.EVENT_GROUPS if subject.kinds <= g.subjects and other.kinds <= g.objects]
    link(c, ("and", "and then", ", then", "but", "before", "after", "because", "so", ". then"), 0.1)
    nxt = c.r.choice(options)
    second = c.r.choice(nxt.verbs)
    if s.words[-1] in ("before", "after", "because", "so") or c.chance(0.3):
        ref = c.refer(subject)
        rivals = [x for x in c.rivals(subject) if x.kinds & nxt.subjects and x is not other]
        if rivals or (other.agrees(c.pronoun(subject)) and other.kinds & nxt.subjects and c.chance(0.9)):
            raise Reject
        ref.decider = c.verb(second, subject, ref.position)
    else:
        at = s.add(second.past if c.past else second.base if subject.plural else second.third)
        s.subjects.append((at, subject.heads[-1]))
    if nxt.prepositions:
        s.add(c.r.choice(nxt.prepositions))
    object_pronoun(c, other, subject, nxt.objects)
    c.adjuncts()
    tail(c)


def participle(c: Composer) -> None:
    """After leaving the house, the dog slept near the wall because it was tired."""
    s = c.s
    group, v, subject, other = c.contest()
    s.add(f"{c.r.choice(('after', 'before', 'while', 'without', 'instead of'))} {v.ing}")
    if group.prepositions:
        s.add(c.r.choice(group.prepositions))
    c.place(other, bare=True)
    s.add(",")
    c.place(subject)
    joined_verb(c, subject) if c.chance(0.6) else c.predicate(subject, subject.heads[-1])
    connect(c)
    c.pronoun_clause(c.any_entity())


def repeated(c: Composer) -> None:
    """The dog saw the cat. The cat was hungry, so it slept: both places of a repeated noun are right."""
    s = c.s
    subject, other = c.clause()
    again = c.r.choice((subject, other))
    if len(again.heads) != 1 or "part" in again.kinds or again.nouns[0][0].isupper() or again not in s.entities:
        raise Reject
    link(c, (".", ".", ", and", "because", "but"), 0.2)
    start = len(s.words)
    s.add("the")
    head = s.add(lx.plural(again.nouns[0]) if again.plural else again.nouns[0])
    s.phrases.append((start, head))
    again.heads = (*again.heads, head)
    c.predicate(again, head, simple=True)
    connect(c)
    c.pronoun_clause(c.any_entity())


def consequence(c: Composer) -> None:
    """The hammer hit the vase and it shattered: what is hit breaks."""
    subject = c.fresh(lx.kinds("tool vehicle person animal tool dish"))
    other = c.fresh(lx.kinds("dish machine furniture barrier container tool"))
    other.plural = subject.plural
    c.place(subject)
    c.verb(
        lx.verb(c.r.choice(("hit/hit/hit", "smash", "damage", "knock", "touch"))),
        subject,
        negative=False,
        plain=True,
    )
    c.place(other)
    link(c, ("and", "and", "so", ", and", "until", "."), 0.2)
    ref = c.refer(other)
    verbs = ("break/broke/broken", "crack", "shatter", "collapse", "fall/fell/fallen", "burst/burst/burst")
    ref.decider = c.verb(lx.verb(c.r.choice(verbs)), other, ref.position, negative=False, plain=True)
    tail(c)


def gender(c: Composer) -> None:
    """The boy saw the queen when she was big: agreement alone decides, whatever the predicate."""
    s = c.s
    c.clause()
    options = [e for e in s.entities if len(e.heads) >= 1 and not c.rivals_of_any(e) and "part" not in e.kinds]
    if not options:
        raise Reject
    connect(c)
    e = c.r.choice(options)
    if c.rivals(e):
        raise Reject
    c.pronoun_clause(e)
    tail(c)


def subject_wins(c: Composer) -> None:
    """The dog chased the cat before it slept: between two equals, the subject."""
    s = c.s
    subject, _ = c.clause(negative=False)
    if subject not in s.entities:
        raise Reject
    if c.chance(0.6):
        link(c, ("and then", "before", "after", ", and", "until", ". then", "when"), 0.2)
    else:
        connect(c)
    c.pronoun(subject)
    others = [x for x in c.rivals(subject) if x not in s.entities[:2]]
    ref = c.refer(subject)
    ref.decider = c.predicate(subject, ref.position, others, simple=True)
