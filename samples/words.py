"""The word lists of the demonstration grammar: nouns by kind, adjectives and verbs by what they go with.

Every noun has one kind. An adjective or a verb names the kinds it can be said of; that is all the meaning the
grammar knows, and it is what decides which noun a pronoun stands for.
"""

from __future__ import annotations

NOUNS: dict[str, str] = {
    "man": """man boy king prince father son uncle brother grandfather husband nephew waiter monk wizard
        knight gentleman actor businessman policeman fisherman fireman salesman mailman cowboy lad duke
        emperor groom bachelor hero landlord priest""",
    "woman": """woman girl queen princess mother daughter aunt sister grandmother wife niece waitress nun
        witch lady actress businesswoman policewoman duchess empress bride heroine landlady maid ballerina
        mermaid hostess housewife""",
    "person": """teacher doctor student farmer nurse lawyer child baker engineer driver pilot singer writer
        artist scientist judge cook clerk soldier guard thief neighbor friend guest visitor tourist
        customer worker player dancer painter musician poet professor librarian carpenter plumber
        electrician mechanic butcher tailor gardener hunter sailor captain dentist surgeon reporter editor
        manager boss secretary president mayor minister officer detective spy prisoner patient athlete
        runner swimmer climber coach referee cyclist passenger traveler explorer astronaut pirate beggar
        baby toddler kid teenager adult parent cousin twin stranger leader client witness victim shepherd
        tenant janitor designer programmer accountant banker broker trader vendor cashier barber
        firefighter paramedic pharmacist psychologist historian philosopher mathematician chemist
        biologist physicist architect builder miner blacksmith juggler magician clown acrobat drummer
        pianist violinist guitarist photographer director producer journalist translator interpreter
        ambassador senator governor citizen refugee orphan villager peasant servant butler nanny
        babysitter tutor pupil graduate intern trainee volunteer assistant colleague partner rival enemy
        champion winner loser expert beginner goalkeeper""",
    "animal": """animal dog cat horse cow pig sheep goat donkey camel lion tiger bear wolf fox rabbit mouse
        rat squirrel deer elephant giraffe zebra monkey gorilla kangaroo koala panda leopard cheetah hyena
        hippo rhino buffalo bull calf lamb puppy kitten pony mule hen chicken rooster duck goose turkey
        swan eagle hawk owl crow raven parrot pigeon sparrow robin penguin ostrich flamingo peacock
        seagull fish shark whale dolphin seal octopus crab lobster turtle tortoise snake lizard crocodile
        alligator frog toad snail worm bee wasp ant spider beetle butterfly moth fly mosquito cricket
        hedgehog beaver otter badger skunk raccoon moose bison llama hamster hare mole bat creature beast
        pet insect bird dragon dinosaur unicorn cub foal hound stallion piglet duckling chick salmon trout""",
    "way": """street road bridge path highway avenue lane alley track trail tunnel intersection freeway
        boulevard crossing sidewalk pavement crosswalk driveway roundabout passage motorway""",
    "water": """river stream lake pond canal creek bay lagoon swamp brook ocean sea pool reservoir marsh
        channel""",
    "container": """box suitcase bag basket drawer jar bucket backpack purse barrel crate trunk pouch sack
        wallet briefcase chest tray bin envelope pocket tank case carton package parcel cupboard closet
        cabinet locker shelf safe""",
    "food": """cake bread soup apple sandwich pizza cheese pie cookie salad banana orange pear peach egg
        potato tomato carrot onion steak sausage burger pancake meal dinner lunch breakfast fruit bone
        meat biscuit muffin pudding stew omelette noodle bean pepper mushroom cabbage lemon melon cherry
        strawberry grape nut candy chocolate snack""",
    "drink": "milk tea coffee juice wine beer lemonade soda cocoa cider water syrup medicine smoothie",
    "dish": """vase glass cup plate bowl mug bottle teapot mirror window pitcher saucer dish lens ornament
        statue figurine lightbulb""",
    "tool": """hammer knife rope ladder shovel axe saw ball stone rock brick stick spoon fork key umbrella
        pen pencil brush broom needle nail screwdriver wrench drill scissor bat racket sword shield spear
        arrow helmet whistle kite doll toy puzzle blanket pillow towel candle coin stamp flag rug carpet
        mattress log plank pipe wire chain hook net anchor oar paddle saddle comb razor trophy medal
        sculpture dumbbell barbell boulder statuette tent cushion cane bicycle skateboard sled stroller""",
    "jewel": "ring necklace bracelet diamond watch earring crown pearl gem brooch pendant emerald ruby",
    "furniture": """table chair sofa desk bed bench couch stool wardrobe bookcase armchair dresser crib
        sideboard cot""",
    "clothing": """coat shirt jacket dress sweater hat skirt scarf glove shoe boot sock suit uniform tie
        belt cap cloak apron robe blouse vest costume sandal slipper raincoat""",
    "vehicle": """car truck bus train boat ship taxi van plane motorcycle tractor helicopter ambulance tram
        wagon cart ferry yacht canoe raft bike scooter submarine rocket jeep carriage trailer balloon""",
    "building": """house school shop museum library hotel restaurant hospital church castle office factory
        store market bank theater station airport cafe bakery palace temple tower barn cottage cabin
        kitchen bathroom bedroom room garage gym stadium prison apartment classroom hall basement attic
        zoo supermarket pharmacy shed stable warehouse villa mansion""",
    "land": """forest mountain field cave desert hill valley beach island park garden jungle meadow village
        town city cliff canyon farm yard square playground orchard vineyard peak slope volcano glacier
        coast shore country campsite""",
    "text": """book letter story movie song lecture novel poem article report magazine newspaper play speech
        film message essay email document contract diary chapter lesson manual recipe script textbook joke
        tale sermon documentary dictionary""",
    "machine": """computer phone printer radio television camera laptop engine machine oven fridge clock
        robot lamp heater microwave telephone keyboard toaster dishwasher vacuum fan alarm elevator
        scanner generator projector speaker microscope telescope device""",
    "plant": "tree flower bush rose tulip oak pine cactus vine hedge fern lily shrub daisy willow sunflower",
    "barrier": "wall fence gate door barrier curtain hatch roof railing doorway gap hole",
    "event": """party meeting concert exam war wedding game match race festival storm trip holiday class
        conference ceremony interview trial election picnic parade funeral show test journey debate
        experiment rehearsal tournament workshop""",
    "idea": """plan idea problem question answer task project theory rule decision secret riddle solution
        mistake puzzle equation method argument proposal""",
    "part": """tail paw nose mouth ear leg head eye foot hand hair face back arm neck tooth owner color
        price size shape name voice wing skin finger knee shoulder""",
    "instrument": "piano guitar violin drum flute trumpet cello harp organ clarinet saxophone banjo",
}

IRREGULAR_PLURALS: dict[str, str] = {
    "man": "men",
    "woman": "women",
    "child": "children",
    "mouse": "mice",
    "goose": "geese",
    "wolf": "wolves",
    "calf": "calves",
    "sheep": "sheep",
    "deer": "deer",
    "fish": "fish",
    "knife": "knives",
    "wife": "wives",
    "thief": "thieves",
    "loaf": "loaves",
    "shelf": "shelves",
    "gentleman": "gentlemen",
    "businessman": "businessmen",
    "policeman": "policemen",
    "fisherman": "fishermen",
    "fireman": "firemen",
    "salesman": "salesmen",
    "mailman": "mailmen",
    "businesswoman": "businesswomen",
    "policewoman": "policewomen",
    "housewife": "housewives",
    "moose": "moose",
    "bison": "bison",
    "salmon": "salmon",
    "trout": "trout",
    "scarf": "scarves",
    "hero": "heroes",
    "potato": "potatoes",
    "tomato": "tomatoes",
    "mosquito": "mosquitoes",
    "buffalo": "buffaloes",
    "volcano": "volcanoes",
    "foot": "feet",
    "tooth": "teeth",
}
MASS = frozenset(
    """milk tea coffee juice wine beer lemonade soda cocoa cider water syrup medicine bread cheese meat
    fruit hair chocolate candy""".split()
)

NAMES_M = """John Tom James Peter Paul David Michael Robert William Henry George Jack Sam Ben Daniel Adam
    Leo Max Oscar Felix Simon Thomas Charles Edward Joseph Anthony Kevin Brian Steven Eric Martin Alan
    Carl Victor Hugo Luke Nathan Oliver Liam Noah Ethan Lucas Jacob Ryan Bob Bill Jim Fred Harry Albert
    Arthur Andrew Philip Richard Walter Omar Ali Ahmed Ivan Boris Pablo Diego Carlos Marco Luis Kenji
    Hiroshi Wei Raj Arjun"""
NAMES_F = """Mary Anna Emma Alice Sarah Lucy Kate Jane Susan Linda Laura Julia Sophie Maria Helen Nina Clara
    Ella Eva Olivia Emily Hannah Rachel Rebecca Amy Betty Carol Diana Elizabeth Fiona Gloria Irene Jessica
    Karen Lisa Margaret Nancy Nora Patricia Paula Sandra Sharon Tina Ursula Vera Wendy Zoe Mia Chloe Ava
    Lily Jennifer Barbara Martha Judy Ann Joan Ruth Fatima Aisha Leila Yuki Mei Priya Ingrid Elena Carmen
    Rosa"""

PEOPLE = "man woman person name_m name_f"
ANIMATE = PEOPLE + " animal"
PORTABLE = "container dish tool jewel clothing instrument"
GOODS = PORTABLE + " furniture vehicle machine text"
PLACES = "building land"
SOLID = GOODS + " building plant barrier way"
THINGS = SOLID + " water food drink land event idea"

# What each adjective can be said of, as the predicate of a pronoun. Kinds that an adjective merely fits badly are
# left out, so a noun is either a fair reading or none.
ADJECTIVES: dict[str, str] = {
    ANIMATE: """tired hungry thirsty scared afraid sleepy asleep sick angry bored nervous brave lazy shy
        lonely curious injured exhausted frightened awake alive ill anxious worried confused impatient
        blind deaf weary starving sad unhappy cheerful stubborn timid greedy careful careless cautious
        hurt wounded lame drowsy dizzy terrified excited surprised relaxed restless alert calm eager upset
        furious jealous fearful fearless lost dead frail clumsy friendly hostile gentle cruel playful
        mischievous obedient loyal grumpy distracted startled panicked satisfied happy""",
    PEOPLE: """drunk rich poor polite rude honest guilty innocent busy proud ashamed embarrassed patient
        generous selfish wise foolish intelligent talented famous popular grateful jobless disappointed
        ambitious optimistic experienced late early ready sorry unemployed retired married single homesick
        sober humble arrogant unprepared sleepless skilled trustworthy""",
    "animal": "tame furry hairy feathered venomous caged nocturnal wild",
    "way": """wide busy icy muddy bumpy paved winding congested steep narrow slippery flooded dangerous dark
        long crowded closed blocked rough snowy""",
    "way water": "wide",
    "water": "deep shallow frozen polluted icy murky salty muddy choppy cold dangerous rough wild",
    "container": "heavy full empty sealed overloaded roomy packed unlocked locked open closed",
    "food": """delicious tasty stale rotten spicy burnt ripe raw sweet sour frozen bitter moldy cooked
        undercooked fresh salty juicy crispy greasy bland overcooked hot""",
    "drink": "delicious tasty sweet sour bitter strong fresh hot lukewarm cold refreshing diluted",
    "dish": "fragile broken cracked chipped dusty breakable shattered clean expensive delicate empty",
    "tool": """heavy broken expensive useful rusty sharp blunt cheap worn useless damaged bulky lightweight
        light""",
    "jewel": "expensive precious shiny valuable fake priceless sparkling genuine",
    "furniture": "heavy broken expensive uncomfortable comfortable wobbly wooden bulky sturdy antique cheap",
    "clothing": """expensive tight torn loose ragged fashionable stained ugly baggy wrinkled damp washable
        cheap warm comfortable""",
    "vehicle": """expensive broken crowded overloaded rusty unsafe damaged late parked full delayed reliable
        cheap""",
    "building": """closed crowded expensive haunted empty open abandoned modern dark dusty locked messy tidy
        spacious full quiet noisy""",
    "land": "steep dark remote rocky barren foggy snowy sunny crowded green peaceful dangerous far",
    "text": """boring interesting long difficult confusing tedious funny dull touching brief complicated
        famous thrilling illegible short sad""",
    "machine": """broken expensive noisy outdated faulty complicated overheated defective useful loud
        unplugged cheap""",
    "plant": "tall thorny withered leafy dry prickly poisonous dead green blooming",
    "barrier": "high locked closed open solid painted sealed",
    "event": """long boring canceled important noisy short dull successful exciting over crowded stressful
        difficult postponed late""",
    "idea": """difficult complicated simple risky important brilliant absurd confusing hard easy unrealistic
        vague obvious tricky""",
    "instrument": "expensive untuned loud broken heavy antique shiny",
}
# Sizes and the like fit anything; which noun is meant depends on the frame (see frames.FRAMES).
SIZES = """big large huge small little tiny long short tall old new young fast slow strong weak dirty clean
    wet dangerous beautiful cold warm hot quiet loud thin fat light heavy high low soft hard narrow deep
    enormous massive gigantic miniature thick"""

# Verbs: group -> (subject kinds, object kinds, verbs). An irregular verb is base/past/participle.
TRANSITIVE: dict[str, tuple[str, str, str]] = {
    "cross": (ANIMATE, "way water", "cross avoid reach/reached/reached approach"),
    "eat": (ANIMATE, "food", "eat/ate/eaten taste swallow chew devour smell finish refuse share"),
    "cook": (PEOPLE, "food", "cook bake prepare serve fry roast slice heat order burn"),
    "drink": (ANIMATE, "drink", "drink/drank/drunk taste spill sip swallow smell"),
    "pour": (PEOPLE, "drink", "pour order heat buy/bought/bought serve"),
    "carry": (
        ANIMATE,
        PORTABLE,
        """carry drag drop find/found/found push pull move lift grab
        steal/stole/stolen""",
    ),
    "handle": (
        PEOPLE,
        GOODS,
        """buy/bought/bought sell/sold/sold borrow choose/chose/chosen lose/lost/lost
        hide/hid/hidden clean fix repair return lend/lent/lent want need own keep/kept/kept
        bring/brought/brought take/took/taken use replace examine paint pack polish""",
    ),
    "break": (
        ANIMATE,
        "dish tool machine furniture",
        """break/broke/broken damage destroy hit/hit/hit kick
        touch""",
    ),
    "shatter": (PEOPLE, "dish", "shatter crack smash wipe rinse"),
    "read": (
        PEOPLE,
        "text",
        """read/read/read write/wrote/written finish understand/understood/understood
        enjoy publish translate discuss criticize review explain print""",
    ),
    "wear": (PEOPLE, "clothing", "wear/wore/worn wash iron fold mend sew/sewed/sewn remove"),
    "drive": (PEOPLE, "vehicle", "drive/drove/driven park rent board miss repair steer wash"),
    "enter": (ANIMATE, PLACES, "enter leave/left/left explore reach visit avoid"),
    "build": (PEOPLE, "building barrier", "build/built/built paint clean design demolish decorate"),
    "climb": (ANIMATE, "barrier plant land", "climb approach"),
    "open": (PEOPLE, "container barrier", "open close lock unlock shut/shut/shut block"),
    "fill": (PEOPLE, "container", "fill empty pack unpack seal"),
    "operate": (PEOPLE, "machine", "use fix start stop operate install unplug program"),
    "play": (PEOPLE, "instrument", "play tune practice"),
    "grow": (PEOPLE, "plant", "plant water cut/cut/cut trim pick"),
    "chase": (
        "animal",
        "animal man woman person",
        """chase attack bite/bit/bitten hunt catch/caught/caught
        follow scare frighten lick sniff""",
    ),
    "tend": (
        PEOPLE,
        "animal",
        """feed/fed/fed pet train rescue chase catch/caught/caught hunt
        ride/rode/ridden wash free""",
    ),
    "meet": (
        PEOPLE,
        PEOPLE,
        """help thank call visit meet/met/met greet hug blame invite
        teach/taught/taught trust warn ignore praise criticize punish forgive/forgave/forgiven interview
        fire hire marry admire envy insult congratulate phone answer question pay/paid/paid
        fight/fought/fought kiss defeat comfort scold fear respect beat/beat/beaten convince accuse""",
    ),
    "attend": (
        PEOPLE,
        "event",
        """attend leave/left/left enjoy miss organize cancel postpone skip join
        win/won/won plan""",
    ),
    "solve": (
        PEOPLE,
        "idea",
        """solve explain understand/understood/understood discuss reject consider
        accept ignore forget/forgot/forgotten""",
    ),
    "see": (
        ANIMATE,
        THINGS + " " + ANIMATE,
        """see/saw/seen notice watch like love hate find/found/found
        hear/heard/heard remember spot ignore prefer""",
    ),
}
# Verbs with a preposition: group -> (subject kinds, object kinds, prepositions, verbs).
PREPOSITIONAL: dict[str, tuple[str, str, str, str]] = {
    "along": (ANIMATE, "way", "along across down over", "walk run/ran/run go/went/gone wander hurry"),
    "swim": (ANIMATE, "water", "across in through", "swim/swam/swum wade"),
    "jump": (ANIMATE, "water", "into near over", "jump fall/fell/fallen look"),
    "inside": (
        ANIMATE,
        "building vehicle",
        "in inside near behind outside",
        """sleep/slept/slept wait
        hide/hid/hidden sit/sat/sat stay live stop rest""",
    ),
    "into": (ANIMATE, PLACES, "into through from toward", "run/ran/run walk go/went/gone escape hurry sneak"),
    "land": (ANIMATE, "land", "in through across near", "walk live play travel sleep/slept/slept wander"),
    "seat": (
        ANIMATE,
        "furniture",
        "on under behind near",
        """sit/sat/sat sleep/slept/slept hide/hid/hidden
        jump lie/lay/lain stand/stood/stood""",
    ),
    "top": (
        ANIMATE,
        "barrier plant",
        "over behind near",
        """jump look hide/hid/hidden climb
        stand/stood/stood""",
    ),
    "look": (ANIMATE, THINGS + " " + ANIMATE, "at", "look stare point glance"),
    "listen": (PEOPLE, "text event instrument machine", "to", "listen"),
    "talk": (PEOPLE, PEOPLE, "to with", "talk speak/spoke/spoken argue chat lie wave"),
    "wait": (PEOPLE, PEOPLE + " vehicle event", "for", "wait search care look"),
    "run": (
        "animal",
        "animal man woman person",
        "from to toward after at",
        """run/ran/run bark growl
        hide/hid/hidden""",
    ),
    "fit": ("tool dish text clothing jewel instrument machine", "container", "in into inside", "fit/fit/fit"),
    "parked": (
        "vehicle",
        "building way land",
        "near in behind on",
        """stop break/broke/broken crash arrive
        stay""",
    ),
    "stand": ("furniture machine plant", "building", "in near behind", "stand/stood/stood stay"),
    "lay": (
        "tool dish jewel text clothing food",
        "furniture",
        "on under",
        """lie/lay/lain stay
        fall/fell/fallen""",
    ),
    "lead": ("way", PLACES, "to through near past", "lead/led/led run/ran/run go/went/gone"),
}
# Verbs without an object, said of these kinds.
INTRANSITIVE: dict[str, str] = {
    ANIMATE: """sleep/slept/slept yawn rest run/ran/run cry limp tremble hesitate eat/ate/eaten
        wake/woke/woken faint starve survive die scream sneeze breathe listen""",
    PEOPLE: """laugh smile speak/spoke/spoken sing/sang/sung dance complain apologize lie agree refuse
        resign whisper shout think/thought/thought sweat study sigh shrug work""",
    "animal": "bark growl howl purr roar hiss bite/bit/bitten graze meow gallop",
    "way": "curve bend/bent/bent flood end",
    "water": "freeze/froze/frozen flow overflow dry",
    "container": "leak burst/burst/burst tear/tore/torn open overflow",
    "food": "rot smell melt burn cool",
    "drink": "cool boil spill evaporate",
    "dish": "break/broke/broken crack shatter leak",
    "tool": "break/broke/broken rust snap roll",
    "jewel": "sparkle shine/shone/shone glitter glow",
    "furniture": "collapse creak wobble",
    "clothing": "shrink/shrank/shrunk tear/tore/torn fade",
    "vehicle": "crash stop arrive depart stall skid sink/sank/sunk start",
    "building": "close open collapse burn",
    "text": "end rhyme begin/began/begun",
    "machine": "explode stop work ring/rang/rung overheat start crash beep",
    "plant": "grow/grew/grown bloom wither wilt die",
    "barrier": "collapse open close fall/fell/fallen",
    "event": "end start begin/began/begun continue happen finish last",
    "idea": "fail work succeed",
    "instrument": "squeak sound",
}
# Verbs that double their last letter.
DOUBLED = frozenset(
    """admit begin chat cut drag drop fit forget grab hit hug outrun pet plan prefer program put rob rot
    run shrug shut sip sit skid skip snap spin spot step stop swim trim unplug wed win wrap""".split()
)
GIVE = """give/gave/given show send/sent/sent offer lend/lent/lent sell/sold/sold hand bring/brought/brought
    throw/threw/thrown teach/taught/taught"""
SAY = """say/said/said think/thought/thought know/knew/known believe claim hope hear/heard/heard dream
    explain admit complain realize"""
WANT = "want need try decide refuse hope plan agree"

DEGREES = """too so very really quite extremely rather far somewhat incredibly pretty terribly simply just
    still already always"""
ADVERBS = """slowly quickly quietly suddenly carefully happily sadly often never always usually finally
    nearly almost recently eventually immediately simply easily secretly angrily calmly gently gladly"""
TIMES = """yesterday today again later tonight tomorrow outside alone together afterwards twice once then
    early soon inside"""
OPENERS = """Yesterday Today Suddenly Finally Later Luckily Sadly Eventually However Once Tonight Then
    Afterwards Unfortunately Fortunately Perhaps Maybe Usually Sometimes Surprisingly"""
MOMENTS = "morning evening afternoon night summer winter spring autumn weekend rain snow dark sun"
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
COLORS = "red blue green yellow black white brown gray golden silver purple pink"
NUMBERS = "two three four five six seven many several some few both"
