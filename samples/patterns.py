"""The tables of patterns, the plain sentences, and the patterns that training never shows."""

from __future__ import annotations

import lexicon as lx
import reasons
import settings
from composer import Composer, Pattern
from joints import connect, joined_verb, link
from sentence import CAUSE, Entity

FUNCTION_WORDS = """a an the this that these those my our your some every another no each one all other same first last
    new old it he she they him her them his its their himself herself itself themselves i we you who
    which what why where when how did do does was were is are be been being had has have having could
    can couldn't cannot can't would wouldn't will won't must might should may not never didn't doesn't
    don't wasn't weren't isn't aren't hadn't haven't hasn't shouldn't because since as although though
    but even yet so while after before until soon if and or then too very in on at near behind outside
    by from to into with for of through under over about there here any nobody everyone something
    nothing only also both if unless whenever whether reason than more told tell tells somebody during
    last one day night morning instead without knock knocked knocks knocking knocking however fact
    course enough enough up down out away home back wanted couldn't needed got let"""


def plain(c: Composer) -> None:
    """Sentences without a pronoun: passives, reports, lists, conditions, joined verbs, there is."""
    s, r = c.s, c.r
    roll = r.random()
    if roll < 0.2:
        c.clause()
        if c.chance(0.4):
            connect(c)
            c.clause()
    elif roll < 0.35:
        passive(c)
    elif roll < 0.5:
        s.add(r.choice(("if", "unless", "whenever", "if")))
        c.clause()
        s.add(",")
        c.clause()
    elif roll < 0.6:
        speaker = c.fresh(lx.PEOPLE)
        c.place(speaker)
        s.subjects.append((s.add(lx.finite(r.choice(lx.SAY), c.past, speaker.plural)), speaker.heads[-1]))
        s.add("that" if c.chance(0.7) else "")
        c.clause()
    elif roll < 0.7:
        e = c.fresh(lx.ALL_KINDS)
        s.add("there " + c.be(e.plural))
        c.place(e)
        c.adjuncts()
    elif roll < 0.8:
        subject, _ = c.clause()
        s.add("and")
        joined_verb(c, subject)
    elif roll < 0.88:
        s.add("the reason")
        if c.chance(0.5):
            s.add("why")
        c.clause(negative=True)
        s.add(c.r.choice(("was that", "is that")))
        c.clause()
    else:
        e = c.fresh(lx.ALL_KINDS)
        c.place(e)
        c.predicate(e, e.heads[-1])
        c.adjuncts()


def passive(c: Composer) -> tuple[Entity, Entity]:
    """The street was crossed by the animal."""
    s = c.s
    group = c.r.choice(lx.TRANSITIVE_GROUPS)
    subject, other = c.fresh(group.subjects), c.fresh(group.objects)
    c.place(other)
    start = len(s.words)
    at = s.add(c.be(other.plural, negative=c.chance(0.4)) + " " + c.r.choice(group.verbs).participle)
    s.subjects += [(start, other.heads[-1]), (at, other.heads[-1])]
    s.add("by")
    c.place(subject)
    return other, subject


def because_held_out(c: Composer) -> None:
    link(c, CAUSE, 0.1)
    c.pronoun_clause(c.any_entity())


def held_passive(c: Composer) -> None:
    """The street was not crossed by the animal because it was too tired."""
    passive(c)
    because_held_out(c)


def held_report(c: Composer) -> None:
    """Tom said that the animal didn't cross the street because it was too tired."""
    speaker = c.fresh(lx.PEOPLE)
    c.place(speaker, bare=True)
    c.s.subjects.append((c.s.add(lx.finite(c.r.choice(lx.SAY), c.past, speaker.plural)), speaker.heads[-1]))
    c.s.add("that")
    c.clause()
    because_held_out(c)


def held_joined(c: Composer) -> None:
    """The animal saw the dog and didn't cross the street because it was too wide."""
    subject, _ = c.clause()
    c.s.add("and")
    joined_verb(c, subject)
    because_held_out(c)


def held_if(c: Composer) -> None:
    """If the animal crosses the street, it is very tired."""
    c.s.add(c.r.choice(("if", "unless", "whenever")))
    c.clause()
    c.s.add(",")
    c.pronoun_clause(c.any_entity())


def held_reason(c: Composer) -> None:
    """The reason why the animal didn't cross the street was that it was too wide."""
    c.s.add("the reason why")
    c.clause(negative=True)
    c.s.add("was that" if c.past else "is that")
    c.pronoun_clause(c.any_entity())


PATTERNS: dict[str, tuple[int, Pattern]] = {
    "connective": (30, reasons.connective),
    "fronted": (11, reasons.fronted),
    "copular": (8, reasons.copular),
    "so_that": (5, reasons.so_that),
    "too_to": (3, reasons.too_to),
    "object": (7, reasons.object_),
    "possessive": (4, settings.possessive),
    "reported": (4, settings.reported),
    "question": (5, settings.question),
    "reflexive": (1, settings.reflexive),
    "frame": (16, settings.frame),
    "ditransitive": (4, settings.ditransitive),
    "gender": (4, reasons.gender),
    "subject_wins": (3, reasons.subject_wins),
    "names": (4, settings.names),
    "plain": (11, plain),
    "participle": (4, reasons.participle),
    "repeated": (3, reasons.repeated),
    "consequence": (2, reasons.consequence),
}
HELD_OUT_PATTERNS: dict[str, tuple[int, Pattern]] = {
    "held_passive": (1, held_passive),
    "held_report": (1, held_report),
    "held_joined": (1, held_joined),
    "held_if": (1, held_if),
    "held_reason": (1, held_reason),
}
