"""Patterns around a clause: possession, reports, questions, frames, gifts, names."""

from __future__ import annotations

import lexicon as lx
from composer import Composer
from frames import FRAMES, Frame
from joints import connect, link, tail
from sentence import CAUSE, TIME, Entity, Reject


def possessive(c: Composer) -> None:
    """The queen lost her ring in the garden."""
    s = c.s
    group, v, subject, other = c.event()
    if "name_m" in other.kinds or "name_f" in other.kinds:
        raise Reject
    if c.chance(0.3) and not subject.kinds & lx.PEOPLE:
        other = c.fresh(lx.kinds("part"))
    c.place(subject)
    c.verb(v, subject)
    if group.prepositions:
        s.add(c.r.choice(group.prepositions))
    c.check_meetings(other)
    ref = c.refer(subject, "possessive")
    word = s.words.pop()
    c.emit(other, possessive=word)
    ref.decider = other.heads[0]
    c.adjuncts()
    if c.chance(0.5):
        connect(c)
        c.pronoun_clause(c.any_entity())


def reported(c: Composer) -> None:
    """The girl said that she was tired. Tom told Mary that he had eaten the cake."""
    s = c.s
    speaker = c.fresh(lx.PEOPLE)
    c.place(speaker)
    if c.chance(0.35):
        hearer = c.fresh(lx.PEOPLE)
        speaker.gender = speaker.gender or c.r.choice("mf")
        s.subjects.append((s.add("told" if c.past else "tells" if not speaker.plural else "tell"), speaker.heads[-1]))
        c.place(hearer)
        who = c.any_entity()
    else:
        s.subjects.append((s.add(lx.finite(c.r.choice(lx.SAY), c.past, speaker.plural)), speaker.heads[-1]))
        who = speaker
    if c.chance(0.7):
        s.add("that")
    if not c.rivals(who):
        c.pronoun_clause(who)
    else:
        raise Reject
    tail(c)


def question(c: Composer) -> None:
    """Why didn't the animal cross the street? Because it was too tired."""
    s = c.s
    group, v, subject, other = c.contest()
    aux = c.r.choice(("did", "did", "didn't", "could", "couldn't", "would", "will", "can"))
    at = s.add((c.r.choice(("why ", "when ", "how ", "where ")) if c.chance(0.5) else "") + aux)
    c.place(subject, bare=True)
    head = subject.heads[-1]
    s.subjects += [(at, head), (s.add(v.base), head)]
    if group.prepositions:
        s.add(c.r.choice(group.prepositions))
    c.place(other, bare=c.chance(0.6))
    if c.chance(0.5):
        s.add("?")
        if c.chance(0.6):
            s.add("because")
        c.pronoun_clause(c.any_entity())
    else:
        link(c, CAUSE + TIME, 0)
        c.pronoun_clause(c.any_entity())
        s.add("?")


def reflexive(c: Composer) -> None:
    """The king hurt himself because he was careless."""
    subject = c.fresh(lx.ANIMATE)
    c.place(subject)
    group = c.r.choice([g for g in lx.TRANSITIVE_GROUPS if subject.kinds <= g.subjects & g.objects])
    c.verb(c.r.choice(group.verbs), subject)
    c.refer(subject, "self")
    c.adjuncts()
    if c.chance(0.6):
        connect(c)
        c.pronoun_clause(c.any_entity())


def frame(c: Composer) -> None:
    """The trophy didn't fit in the suitcase because it was too big."""
    s, r = c.s, c.r
    f: Frame = r.choice(FRAMES)
    subject = c.fresh(lx.kinds(f.subjects))
    other = c.fresh(lx.kinds(f.objects))
    if subject.nouns == other.nouns:
        raise Reject
    if not subject.kinds & lx.PEOPLE or not other.kinds & lx.PEOPLE:
        other.plural = subject.plural if c.chance(0.8) and other.nouns[0] not in lx.MASS else other.plural
    elif subject.gender and other.gender and subject.gender != other.gender and c.chance(0.7):
        raise Reject
    front = c.chance(0.15)
    who, words = (subject, f.of_subject) if c.chance(0.5) else (other, f.of_object)
    v = lx.verb(r.choice(f.verbs.split()))
    if front:
        if c.chance(0.5):
            s.add(r.choice(("because", "since", "as")))
        c.place(who, bare=True)
        degree = r.choice(("too", "so", "so", "very"))
        c.adjective(who, who.heads[-1], simple=True, only=words.split(), degree=degree)
        if s.words[0] in ("because", "since", "as"):
            s.add(",")
        elif degree == "so":
            s.add("that" if c.chance(0.8) else "")
        else:
            link(c, ("so",), 0.7)
        if who is subject:
            ref = c.refer(subject)
            ref.decider = c.verb(v, subject, ref.position, negative=f.negative)
        else:
            c.place(subject, bare=True)
            c.verb(v, subject, negative=f.negative)
        if f.prepositions:
            s.add(r.choice(f.prepositions.split()))
        if who is subject:
            c.place(other)
        else:
            c.refer(other, "object").decider = len(s.words) - 1
        return
    roll = r.random()
    asked = roll < 0.12
    tried = f.negative is True and 0.12 < roll < 0.27 and bool(subject.kinds & lx.ANIMATE)
    if asked:
        s.add(
            ("why " if c.chance(0.6) else "")
            + r.choice(("couldn't", "didn't", "can't") if f.negative else ("did", "could"))
        )
    c.place(subject, bare=asked or c.chance(0.5))
    if asked:
        s.subjects.append((s.add(v.base), subject.heads[-1]))
    elif tried:
        start = len(s.words)
        s.add(f"{lx.finite(r.choice(('try', 'want', 'hope')), c.past, subject.plural)} to {v.base}")
        s.subjects += [(start, subject.heads[-1]), (len(s.words) - 1, subject.heads[-1])]
    else:
        c.verb(v, subject, negative=f.negative)
    if f.prepositions:
        s.add(r.choice(f.prepositions.split()))
    c.place(other, bare=asked or c.chance(0.6))
    if c.chance(0.15):
        c.adjuncts()
    if tried:
        link(c, ("but", "but", "yet"), 0.7)
    elif (asked and s.words[0] == "why") or (asked and c.chance(0.3)):
        s.add("?")
        if c.chance(0.5):
            s.add("because")
        asked = False
    else:
        link(c, (*CAUSE, *CAUSE, ".", "for"), 0.15)
    who.gender = who.gender or r.choice("mf")
    outside = [x for x in c.rivals(who) if x is not subject and x is not other]
    if any(x.kinds & lx.ADJECTIVE_KINDS.get(words.split()[0], lx.ALL_KINDS) for x in outside):
        raise Reject
    ref = c.refer(who)
    degree = (
        r.choice(("too", "too", "so", "very", "very", "really", ""))
        if f.negative
        else r.choice(("so", "very", "", "", "really"))
    )
    ref.decider = c.adjective(who, ref.position, degree=degree, only=words.split(), simple=True)
    if asked:
        s.add("?")
        return
    if c.chance(0.25):
        c.adjuncts()
    tail(c)


def ditransitive(c: Composer) -> None:
    """Mary gave the book to John because he needed it."""
    s = c.s
    giver = c.fresh(lx.PEOPLE)
    taker = c.fresh(lx.ANIMATE)
    thing = c.fresh(lx.kinds("tool text jewel clothing food drink container instrument machine dish"))
    c.place(giver)
    v = lx.verb(c.r.choice(lx.GIVE))
    c.verb(v, giver)
    if c.chance(0.5):
        c.place(thing)
        s.add("to")
        c.place(taker, bare=True)
    else:
        c.place(taker, bare=True)
        c.place(thing)
    connect(c)
    c.pronoun_clause(c.any_entity())
    tail(c)


def names(c: Composer) -> None:
    """Mary saw Tom. Tom was late, so Mary called him."""
    s = c.s
    a, b = c.fresh(lx.kinds("name_m")), c.fresh(lx.kinds("name_f"))
    if c.chance(0.5):
        a, b = b, a
    options = [g for g in lx.EVENT_GROUPS if a.kinds <= g.subjects and b.kinds <= g.objects]

    def act(x: Entity, y: Entity | None) -> None:
        g = c.r.choice(options)
        c.verb(c.r.choice(g.verbs), x)
        if g.prepositions:
            s.add(c.r.choice(g.prepositions))
        if y:
            c.place(y, bare=True)

    c.place(a, bare=True)
    act(a, b)
    if c.chance(0.5):
        connect(c)
        who = c.r.choice((a, b))
        ref = c.refer(who)
        if c.chance(0.5):
            ref.decider = c.predicate(who, ref.position)
        else:
            other = b if who is a else a
            act(who, None)
            c.refer(other, "object")
        tail(c)
        return
    s.add(".")
    again = c.r.choice((a, b))
    repeat = Entity(again.nouns, again.kinds, False, gender=again.gender)
    other = b if again is a else a
    repeat.heads = (s.add(again.nouns[0]),)
    s.entities.append(repeat)
    if c.chance(0.5):
        c.adjective(repeat, repeat.heads[0], simple=True)
        link(c, ("so", "and", "because"), 0.7)
        ref = c.refer(other)
        act(other, None)
        c.refer(repeat, "object")
    else:
        act(repeat, None)
        c.refer(other, "object")
        if c.chance(0.6):
            link(c, CAUSE, 0.1)
            c.pronoun_clause(other)
