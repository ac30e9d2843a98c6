"""Frames: a verb whose two nouns may both take an adjective, and which of them it then is said of.

"The trophy didn't fit in the suitcase because it was too big" is about the trophy, "too small" about the suitcase.
"""

from __future__ import annotations

from dataclasses import dataclass

import lexicon as lx
from words import ANIMATE, PEOPLE, PORTABLE

BIG = "big large huge enormous massive gigantic"
SMALL = "small little tiny short weak"


@dataclass(frozen=True)
class Frame:
    """Verbs with the adjectives that speak of their subject, and those that speak of their object."""

    subjects: str
    objects: str
    verbs: str
    of_subject: str
    of_object: str
    negative: bool | None = None
    prepositions: str = ""

    def words(self) -> set[str]:
        verbs = [lx.verb(entry) for entry in self.verbs.split()]
        forms = {form for v in verbs for form in (v.base, v.third, v.past, v.participle, v.ing)}
        return forms | set(f"{self.of_subject} {self.of_object} {self.prepositions}".split())


FRAMES: tuple[Frame, ...] = (
    Frame(
        "tool dish text clothing jewel instrument machine food",
        "container",
        "fit/fit/fit go/went/gone",
        BIG + " long wide tall thick fat bulky heavy",
        "small little tiny short narrow tight full thin low",
        True,
        "in into inside",
    ),
    Frame(
        "tool dish text clothing jewel instrument machine food",
        "container",
        "fit/fit/fit",
        "small little tiny short narrow thin",
        BIG + " long wide deep roomy empty",
        False,
        "in into inside",
    ),
    Frame(
        "furniture vehicle tool animal machine instrument",
        "barrier way",
        "fit/fit/fit go/went/gone pass",
        BIG + " long wide tall thick fat",
        "small little tiny short narrow tight low",
        True,
        "through",
    ),
    Frame(
        "vehicle",
        "building",
        "fit/fit/fit",
        BIG + " long wide tall",
        "small little tiny narrow low",
        True,
        "in into inside",
    ),
    Frame(
        ANIMATE,
        "tool container furniture machine instrument plant dish",
        "lift carry move push pull drag hold/held/held throw/threw/thrown",
        SMALL + " old young thin frail tired injured",
        BIG + " heavy bulky",
        True,
    ),
    Frame(
        ANIMATE,
        "tool container furniture machine instrument",
        "lift carry move push pull drag hold/held/held throw/threw/thrown",
        "strong brave",
        "light small little tiny thin",
        False,
    ),
    Frame(
        ANIMATE,
        "way water",
        "cross pass",
        SMALL + " slow old young tired scared injured fat",
        "wide long dangerous deep dirty cold busy narrow steep icy high rough broken closed",
        True,
    ),
    Frame(
        ANIMATE,
        "way water",
        "cross",
        "fast strong brave young",
        "narrow short shallow safe quiet empty low",
        False,
    ),
    Frame(
        ANIMATE,
        "barrier plant",
        "climb jump cross",
        SMALL + " old young fat slow tired scared",
        "high tall thick huge slippery steep",
        True,
        "over",
    ),
    Frame(
        ANIMATE,
        "barrier plant land",
        "climb",
        SMALL + " old young fat slow tired scared",
        "high tall thick huge slippery steep",
        True,
    ),
    Frame(
        "animal",
        "animal",
        "catch/caught/caught reach outrun/outran/outrun",
        "slow old fat weak tired lame heavy sleepy",
        "fast far quick clever careful",
        True,
    ),
    Frame(
        "animal",
        "animal",
        "catch/caught/caught outrun/outran/outrun",
        "fast strong quick clever",
        "slow old weak injured lame",
        False,
    ),
    Frame(
        "animal",
        "animal",
        "chase attack hunt bite/bit/bitten eat/ate/eaten follow",
        "hungry angry greedy hostile furious aggressive starving wild",
        "slow weak small injured tasty noisy",
        False,
    ),
    Frame(
        "animal",
        "animal",
        "fear avoid escape flee/fled/fled hide/hid/hidden",
        "scared afraid frightened terrified timid weak nervous",
        "hungry angry hostile dangerous aggressive huge strong cruel wild",
        False,
        "",
    ),
    Frame(
        "animal",
        "animal person man woman",
        "hide/hid/hidden run/ran/run escape flee/fled/fled",
        "scared afraid frightened terrified timid weak nervous",
        "hungry angry hostile dangerous aggressive huge strong cruel",
        False,
        "from",
    ),
    Frame(
        "animal man woman",
        "animal man woman",
        "frighten scare",
        "angry dangerous huge loud hostile aggressive cruel",
        "timid nervous young fearful",
        False,
    ),
    Frame(
        ANIMATE,
        "food",
        "eat/ate/eaten finish swallow chew",
        "full sick tired nervous young toothless",
        "big hard hot cold large dry spicy",
        True,
    ),
    Frame(
        ANIMATE,
        "building land",
        "enter leave/left/left",
        "big scared fat lazy afraid tired tall",
        "small dark narrow low dangerous cold far",
        True,
    ),
    Frame(
        PEOPLE,
        "machine vehicle tool instrument",
        "fix repair use buy/bought/bought",
        "poor lazy busy tired young unskilled",
        "old broken expensive complicated heavy slow small loud dangerous",
        True,
    ),
    Frame(
        PEOPLE,
        "text idea",
        "finish understand/understood/understood read/read/read explain",
        "young tired busy lazy sleepy foolish",
        "long difficult hard boring complicated confusing short",
        True,
    ),
    Frame(
        PEOPLE,
        "clothing",
        "wear/wore/worn buy/bought/bought",
        "fat tall poor big thin cold",
        "small tight short long dirty wet expensive old warm",
        True,
    ),
    Frame(
        PEOPLE,
        "building",
        "buy/bought/bought rent clean paint",
        "poor busy lazy old",
        "big small old dark expensive far",
        True,
    ),
    Frame(ANIMATE, PORTABLE + " food plant", "reach", SMALL, "high far", True),
    Frame(
        "tool",
        "dish",
        "break/broke/broken crack smash hit/hit/hit shatter",
        "heavy hard big fast sharp solid",
        "fragile thin delicate weak small",
        False,
    ),
    Frame(
        PEOPLE,
        PEOPLE,
        "comfort hug visit calm cheer",
        "kind gentle caring generous",
        "sad upset lonely hurt sick ill unhappy heartbroken nervous scared crying",
        False,
    ),
    Frame(PEOPLE, PEOPLE, "thank", "grateful happy polite thankful", "helpful kind generous", False),
    Frame(
        PEOPLE,
        PEOPLE,
        "praise admire envy congratulate hire trust",
        "jealous impressed friendly",
        "talented brave famous rich popular honest clever successful intelligent skilled strong",
        False,
    ),
    Frame(
        PEOPLE,
        PEOPLE,
        "punish criticize scold fire blame warn ignore",
        "strict angry furious impatient",
        "rude lazy careless guilty late noisy clumsy dishonest foolish",
        False,
    ),
    Frame(
        PEOPLE,
        PEOPLE,
        "insult attack hit/hit/hit kick bully",
        "drunk jealous rude angry mean furious",
        "weak annoying arrogant",
        False,
    ),
    Frame(
        PEOPLE,
        PEOPLE,
        "apologize lie",
        "sorry guilty wrong rude late ashamed scared",
        "angry upset offended strict",
        False,
        "to",
    ),
    Frame(
        PEOPLE,
        PEOPLE,
        "help rescue carry save pay/paid/paid",
        "generous kind strong rich helpful brave",
        "weak lost injured poor sick hurt old blind helpless",
        False,
    ),
    Frame(
        PEOPLE,
        PEOPLE,
        "hear/heard/heard understand/understood/understood",
        "deaf distracted asleep far",
        "quiet shy drunk foreign",
        True,
    ),
    Frame(
        PEOPLE,
        PEOPLE,
        "beat/beat/beaten defeat outrun/outran/outrun",
        "strong fast clever skilled experienced",
        "weak slow tired old unprepared inexperienced",
        False,
    ),
    Frame(PEOPLE, "vehicle", "miss catch/caught/caught", "late slow tired sleepy", "early fast full", False),
    Frame(
        "vehicle",
        "way",
        "cross pass use",
        "wide heavy big old slow broken",
        "narrow closed icy flooded steep blocked busy",
        True,
    ),
    Frame(
        "vehicle",
        "vehicle",
        "pass overtake/overtook/overtaken",
        "fast powerful",
        "slow old broken parked",
        False,
    ),
)
