"""Draws noun phrases, verbs, clauses and predicates, and knows which noun each pronoun stands for."""

from __future__ import annotations

import random
from collections.abc import Callable

import lexicon as lx
from sentence import SPEAKERS, Entity, Reference, Reject, Sentence, reserved_meeting, reserved_pair


class Composer:
    """Draws one sentence after another from one random stream."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.s = Sentence()
        self.past = True
        self.allow_held_out = False

    def chance(self, p: float) -> bool:
        return self.r.random() < p

    # Noun phrases

    def noun(self, kinds: frozenset[str]) -> Entity:
        kind = self.r.choice(lx.KIND_LISTS[kinds])
        word = self.r.choice(lx.NOUNS[kind])
        names = kind.startswith("name")
        plural = not names and word not in lx.MASS and self.chance(0.17)
        gender = {"man": "m", "name_m": "m", "woman": "f", "name_f": "f"}.get(kind)
        return Entity((word,), frozenset({kind}), plural, gender=gender)

    def fresh(self, kinds: frozenset[str]) -> Entity:
        """A noun that is not in the sentence yet."""
        used = {n for e in self.s.entities for n in e.nouns}
        for _ in range(5):
            entity = self.noun(kinds)
            if entity.nouns[0] not in used:
                return entity
        raise Reject

    def emit(self, e: Entity, bare: bool = False, possessive: str | None = None) -> Entity:
        """Write the noun phrase of `e`; its heads become known."""
        s, r = self.s, self.r
        word, kind = e.nouns[0], next(iter(e.kinds))
        if word in SPEAKERS:
            e.heads = (s.add(word),)
            return e
        if kind.startswith("name"):
            e.heads = (s.add(word),)
            s.entities.append(e)
            if not bare and self.chance(0.06) and not e.plural:
                self.join(e)
            return e
        start = len(s.words)
        if possessive:
            s.add(possessive)
        elif not bare and self.chance(0.04):
            owner = Entity((r.choice(lx.NOUNS[r.choice(("name_m", "name_f"))]),), frozenset(), False)
            owner.kinds = frozenset({"name_m" if owner.nouns[0] in lx.NOUN_SETS["name_m"] else "name_f"})
            owner.gender = "m" if "name_m" in owner.kinds else "f"
            self.check_meetings(owner)
            owner.heads = (s.add(owner.nouns[0]),)
            s.entities.append(owner)
            self.check_meetings(e)
            s.add("'s")
            start = len(s.words)
        elif e.plural:
            roll = r.random()
            s.add(
                "the"
                if roll < 0.62
                else r.choice(lx.NUMBERS)
                if roll < 0.8
                else r.choice(("these", "those", "all the", "our", "my", "the other"))
            ) if roll < 0.9 else None
        else:
            roll = r.random()
            if word in lx.MASS:
                s.add("the" if roll < 0.8 else r.choice(("some", "this", "that", "my")))
            elif roll < 0.68:
                s.add("the")
            elif roll < 0.86:
                s.add("a")
            else:
                s.add(r.choice(("this", "that", "my", "our", "your", "one", "every", "another", "no", "each")))
        for _ in range(r.choices((0, 1, 2), (78, 19, 3))[0]):
            adjective = r.choice(lx.ATTRIBUTES[kind])
            if not reserved_pair(word, adjective) and adjective not in s.words[start:]:
                s.add("very " + adjective if self.chance(0.08) else adjective)
                s.judged.add((word, adjective))
        head = s.add(lx.plural(word) if e.plural else word)
        for i in range(start, head):
            if s.words[i] == "a":
                s.words[i] = lx.article(s.words[i + 1])
            s.phrases.append((i, head))
        e.heads = (head,)
        s.entities.append(e)
        if not bare and not e.plural and self.chance(0.05) and kind not in ("event", "idea"):
            self.join(e)
        elif not bare:
            self.after_noun(e)
        return e

    def join(self, e: Entity) -> None:
        """Turn a noun phrase into a list of two or three of one kind."""
        parts = [Entity(e.nouns, e.kinds, False, e.heads, e.gender)]
        more = 1 if self.chance(0.75) else 2
        for i in range(more):
            self.s.add("and" if i == more - 1 else ",")
            other = self.fresh(
                lx.kinds(
                    self.r.choice(sorted(e.kinds))
                    if self.chance(0.8)
                    else "animal"
                    if "animal" in e.kinds
                    else "name_m name_f"
                    if e.gender
                    else sorted(e.kinds)[0]
                )
            )
            other.plural = False
            self.check_meetings(other)
            parts.append(self.emit(other, bare=True))
        e.plural, e.gender = True, None
        e.nouns = tuple(n for p in parts for n in p.nouns)
        e.kinds = frozenset().union(*(p.kinds for p in parts))
        e.heads = tuple(h for p in parts for h in p.heads)
        self.s.entities.append(parts[0])

    def check_meetings(self, e: Entity) -> None:
        """Note the meeting of two words that training never sees together."""
        for other in self.s.entities:
            for a in other.nouns:
                for b in e.nouns:
                    if reserved_meeting(a, b):
                        self.s.features.add("fillers")

    def place(self, e: Entity, **how: bool) -> Entity:
        self.check_meetings(e)
        return self.emit(e, **how)

    def after_noun(self, e: Entity) -> None:
        """Perhaps a preposition phrase or a relative clause."""
        roll, s = self.r.random(), self.s
        if len(s.words) > 24 or roll > 0.14:
            return
        if roll < 0.05 and not e.kinds & {"event", "idea", "part"}:
            s.add(self.r.choice(("in", "near", "from", "behind", "outside", "by")))
            self.place(self.fresh(lx.PLACES), bare=True)
        elif roll < 0.10:
            s.add(self.r.choice(("that", "who")) if e.kinds <= lx.PEOPLE else self.r.choice(("that", "which")))
            self.predicate(e, e.heads[-1], simple=True)
        elif not s.features & {"relative"}:
            s.features.add("relative")
            options = [g for g in lx.TRANSITIVE_GROUPS if e.kinds <= g.objects]
            if not options:
                return
            group = self.r.choice(options)
            if self.chance(0.7):
                s.add(self.r.choice(("that", "who")) if e.kinds <= lx.PEOPLE else self.r.choice(("that", "which")))
            subject = self.place(self.fresh(group.subjects), bare=True)
            self.verb(self.r.choice(group.verbs), subject, plain=True)

    # Verb phrases

    def verb(
        self,
        v: lx.Verb,
        subject: Entity,
        head: int | None = None,
        plain: bool = False,
        negative: bool | None = None,
        pronoun: bool = False,
    ) -> int:
        """Write a finite verb that agrees with `subject`; gives the position of the main verb."""
        s, r, start = self.s, self.r, len(self.s.words)
        plural = subject.plural
        neg = self.chance(0.3) if negative is None else negative
        animate = bool(subject.kinds & lx.ANIMATE)
        roll = r.random()
        adverb = r.choice(lx.ADVERBS) + " " if self.chance(0.08) and animate and not plain else ""
        if neg:
            if self.past:
                aux = r.choice(
                    (
                        "didn't",
                        "didn't",
                        "didn't",
                        "did not",
                        "couldn't",
                        "couldn't",
                        "could not",
                        "wouldn't",
                        "would not",
                    )
                )
            else:
                aux = r.choice(("don't", "do not") if plural else ("doesn't", "doesn't", "does not"))
                aux = r.choice((aux, aux, "can't", "cannot", "won't", "will not"))
            if animate and roll < 0.12:
                aux += " want to"
            text = f"{aux} {v.base}" if roll < 0.95 or not self.past else f"never {v.past}"
        elif roll < 0.66 or (plain and roll < 0.85):
            text = adverb + (v.past if self.past else v.base if plural else v.third)
        elif roll < 0.76:
            be = ("were" if plural else "was") if self.past else ("are" if plural else "is")
            text = f"{be} {adverb}{v.ing}"
        elif roll < 0.84 and animate:
            text = f"{lx.finite(r.choice(lx.WANT), self.past, plural)} to {v.base}"
        elif roll < 0.92:
            modals = ("could", "would", "had to", "might") if self.past else ("can", "will", "must", "should")
            text = f"{r.choice(modals)} {v.base}"
        else:
            text = f"had {adverb}{v.participle}" if self.past else f"{'have' if plural else 'has'} {v.participle}"
        end = s.add(text)
        anchor = subject.heads[-1] if head is None else head
        for i in range(start, end + 1):
            if s.words[i] not in ("to", "not", "never"):
                s.subjects.append((i, anchor))
        return end

    def be(self, plural: bool, negative: bool = False) -> str:
        if self.past:
            word = "were" if plural else "was"
            return self.r.choice((word + "n't", word + " not")) if negative else word
        word = "are" if plural else "is"
        return self.r.choice((word + "n't", word + " not")) if negative else word

    def adjuncts(self) -> None:
        """Perhaps a place or a time after a clause."""
        s, r, roll = self.s, self.r, self.r.random()
        if len(s.words) > 26:
            return
        if roll < 0.08:
            s.add(r.choice(lx.TIMES))
        elif roll < 0.13:
            s.add("in the " + r.choice(lx.MOMENTS) if self.chance(0.6) else "on " + r.choice(lx.DAYS))
        elif roll < 0.22:
            s.add(r.choice(("in", "near", "at", "behind", "outside", "by")))
            self.place(self.fresh(lx.PLACES), bare=True)
        elif roll < 0.26:
            s.add("with")
            self.place(self.fresh(lx.PEOPLE), bare=True)

    def opener(self) -> None:
        """A word or a phrase before the sentence."""
        s, r, roll = self.s, self.r, self.r.random()
        if roll < 0.55:
            s.add(r.choice(lx.OPENERS).lower())
        elif roll < 0.75:
            s.add(
                r.choice(
                    (
                        "in the " + r.choice(lx.MOMENTS),
                        "on " + r.choice(lx.DAYS),
                        "one day",
                        "last night",
                        "this morning",
                    )
                )
            )
        elif roll < 0.88:
            s.add(r.choice(("after", "before", "during")))
            self.place(self.fresh(lx.kinds("event")), bare=True)
        else:
            s.add(r.choice(("in", "near", "at", "behind", "outside")))
            self.place(self.fresh(lx.PLACES), bare=True)
        if self.chance(0.65):
            s.add(",")

    def event(self, first: frozenset[str] | None = None) -> tuple[lx.Group, lx.Verb, Entity, Entity]:
        """A verb with a subject and an object that go with it."""
        group = self.r.choice(lx.EVENT_GROUPS)
        subject = self.fresh(first & group.subjects if first and first & group.subjects else group.subjects)
        for _ in range(8):
            other = self.fresh(group.objects)
            if other.nouns != subject.nouns:
                return group, self.r.choice(group.verbs), subject, other
        raise Reject

    def rivalry(self, group: lx.Group, subject: Entity, other: Entity) -> tuple[Entity, Entity]:
        """The same clause with two nouns that agree with one pronoun, so that meaning has to decide."""
        animal = lx.kinds("animal")
        if group.subjects & animal and subject.kinds & lx.PEOPLE and not other.kinds & lx.PEOPLE:
            subject = self.fresh(animal)
        if not lx.MASS & {*subject.nouns, *other.nouns} and not (subject.gender and subject.nouns[0][0].isupper()):
            other.plural = subject.plural
        return subject, other

    def contest(self) -> tuple[lx.Group, lx.Verb, Entity, Entity]:
        """An event, half the time between rivals for one pronoun."""
        group, v, subject, other = self.event()
        if self.chance(0.5):
            subject, other = self.rivalry(group, subject, other)
        return group, v, subject, other

    def clause(self, negative: bool | None = None) -> tuple[Entity, Entity]:
        """Subject, verb, object; gives the two noun phrases."""
        group, v, subject, other = self.contest()
        if self.chance(0.05) and group.subjects >= lx.PEOPLE:
            word = self.r.choice(SPEAKERS)
            subject = Entity((word,), lx.kinds("name_m"), word in ("we", "you") or (word == "I" and not self.past))
        self.place(subject)
        self.verb(v, subject, negative=negative)
        if group.prepositions:
            self.s.add(self.r.choice(group.prepositions))
        self.place(other)
        self.adjuncts()
        return subject, other

    def pronoun(self, e: Entity, case: str = "subject") -> str:
        """The pronoun of an entity; a person of no given gender gets one, which then stays."""
        if e.plural:
            return {"subject": "they", "object": "them", "possessive": "their", "self": "themselves"}[case]
        if not e.kinds & lx.PEOPLE:
            return {"subject": "it", "object": "it", "possessive": "its", "self": "itself"}[case]
        gender = e.gender or self.r.choice("mf")
        e.gender = gender
        table = {"m": ("he", "him", "his", "himself"), "f": ("she", "her", "her", "herself")}[gender]
        return table[("subject", "object", "possessive", "self").index(case)]

    def rivals(self, e: Entity) -> list[Entity]:
        """The other nouns of the sentence that the pronoun of `e` would agree with."""
        form = self.pronoun(e)
        parts = set(e.heads)
        return [x for x in self.s.entities if x is not e and not parts & set(x.heads) and x.agrees(form)]

    # Predicates that only the right noun can take

    def predicate(self, e: Entity, head: int, rivals: list[Entity] = (), simple: bool = False, word: str = "") -> int:
        """Write a predicate of `e` that no rival can take; gives the deciding word."""
        s, r = self.s, self.r
        taken = frozenset().union(*(x.kinds for x in rivals)) if rivals else frozenset()
        roll = r.random()
        if roll < 0.56 or (simple and roll < 0.7):
            return self.adjective(e, head, taken, simple)
        if roll < 0.70:
            verbs = [v for v, kinds in lx.INTRANSITIVE if e.kinds <= kinds and not taken & kinds]
            if verbs:
                at = self.verb(r.choice(verbs), e, head, pronoun=True)
                if self.chance(0.12):
                    s.add(r.choice(lx.ADVERBS) if self.chance(0.5) else r.choice(lx.TIMES))
                return at
        if roll < 0.84:
            groups = [
                g for g in lx.TRANSITIVE_GROUPS if e.kinds <= g.objects and not taken & g.objects and g.name != "see"
            ]
            if groups and not e.kinds & lx.PEOPLE:
                start = len(s.words)
                v = r.choice(r.choice(groups).verbs)
                aux = "had been" if self.past and self.chance(0.5) else self.be(e.plural)
                at = s.add(f"{aux} {r.choice(('just ', 'already ', 'often ', '', '', '', ''))}{v.participle}")
                s.subjects += [(start, head), (at, head)]
                if self.chance(0.15):
                    s.add("by")
                    self.place(self.fresh(lx.PEOPLE), bare=True)
                return at
        groups = [g for g in lx.EVENT_GROUPS if e.kinds <= g.subjects and not taken & g.subjects]
        if not groups or simple:
            return self.adjective(e, head, taken, simple)
        group = r.choice(groups)
        at = self.verb(r.choice(group.verbs), e, head, pronoun=True)
        if group.prepositions:
            s.add(r.choice(group.prepositions))
        self.place(self.fresh(group.objects), bare=True)
        return at

    def adjective(
        self,
        e: Entity,
        head: int,
        taken: frozenset[str] = frozenset(),
        simple: bool = False,
        degree: str | None = None,
        only: list[str] | None = None,
    ) -> int:
        s, r = self.s, self.r
        options = only or lx.adjectives(e.kinds, taken)
        if not options:
            raise Reject
        word = r.choice(options)
        for noun in e.nouns:
            s.judged.add((noun, word))
            if reserved_pair(noun, word):
                s.features.add("pairs")
        if degree is None:
            degree = r.choice(("too", "too", "too", "so", "very", *lx.DEGREES)) if self.chance(0.62) else ""
        roll = r.random()
        start = len(s.words)
        if roll < 0.80:
            verb = self.be(e.plural, negative=not degree and self.chance(0.15))
        elif roll < 0.9:
            verb = lx.finite(
                r.choice(("look", "seem", "become/became/become", "get/got/got", "appear", "feel/felt/felt")),
                self.past,
                e.plural,
            )
        else:
            verb = "had been" if self.past else self.be(e.plural)
        s.add(verb)
        s.subjects.append((start, head))
        if self.chance(0.02) and not simple:
            s.add(r.choice((", however ,", ", of course ,", ", in fact ,", "in fact", "of course")))
        at = s.add(f"{degree} {word}")
        s.subjects.append((at, head))
        if not degree and self.chance(0.12):
            s.add("enough")
        if not simple:
            tail = r.random()
            if tail < 0.05:
                extra = lx.adjectives(e.kinds, taken)
                second = r.choice(extra) if extra else word
                if second != word and not any(reserved_pair(n, second) for n in e.nouns):
                    s.subjects.append((s.add("and " + second), head))
                    s.judged.update((n, second) for n in e.nouns)
            elif tail < 0.09 and e.kinds & lx.ANIMATE:
                s.add(f"to {r.choice(lx.ANIMATE_VERBS).base}")
            elif tail < 0.13:
                s.add("for")
                self.place(self.fresh(lx.ANIMATE), bare=True)
            elif tail < 0.18:
                s.add(r.choice(lx.TIMES))
            elif tail < 0.21:
                s.add("after")
                self.place(self.fresh(lx.kinds("event food")), bare=True)
        return at

    def refer(self, e: Entity, case: str = "subject") -> Reference:
        at = self.s.add(self.pronoun(e, case))
        ref = Reference(at, e.heads)
        self.s.references.append(ref)
        return ref

    def pronoun_clause(self, e: Entity) -> None:
        """A clause whose subject is the pronoun of `e`."""
        rivals = self.rivals(e)
        ref = self.refer(e)
        ref.decider = self.predicate(e, ref.position, rivals)

    def any_entity(self) -> Entity:
        """A noun phrase to refer back to: most often one of two rivals."""
        pool = [e for e in self.s.entities if "part" not in e.kinds and len(e.heads) >= 1]
        joined = {h for e in pool if len(e.heads) > 1 for h in e.heads}
        pool = [e for e in pool if len(e.heads) > 1 or not set(e.heads) & joined or self.chance(0.1)]
        hard = [e for e in pool if self.rivals_of_any(e)]
        return self.r.choice(hard if hard and self.chance(0.8) else pool)

    def rivals_of_any(self, e: Entity) -> bool:
        keep = e.gender
        found = bool(self.rivals(e))
        e.gender = keep
        return found


Pattern = Callable[[Composer], None]
