"""Questions: yes or no, and what, who, where, when, why, how, how many, which."""

from __future__ import annotations

from scripts.sample_corpus.clauses import Setting, VerbPhrase, clause
from scripts.sample_corpus.grammar import Grammar, Sentence, finish
from scripts.sample_corpus.lexicon import Phrase
from scripts.sample_corpus.phrases import NounPhrase

WHO = NounPhrase("who", "چه کسی")


def yes_no(g: Grammar) -> Sentence:
    """Did you see my brother?"""
    tense = g.rng.choice(("past", "past", "present", "progressive", "perfect", "future", "can"))
    if tense == "can":
        subject, vp, frame = g.action("", ban="modal", style_tense="modal")
        setting = Setting()
    else:
        subject, vp, frame = g.action(tense, subject=g.asked(), suits=lambda v, f: "question" not in f.bans)
        setting = g.setting(frame, tense, vp)
        setting = Setting(setting.time)
    done = clause(subject, vp, tense, question=True, setting=setting)
    return finish("yes-no question", done.en, f"آیا {done.fa}", [done], question=True)


WHAT = (
    "read",
    "write",
    "eat",
    "drink",
    "cook",
    "make",
    "buy",
    "sell",
    "learn",
    "teach",
    "send",
    "receive",
    "give",
    "show",
    "bring",
    "find",
    "lose",
    "watch",
    "hear",
    "repair",
    "wash",
    "build",
    "draw",
    "plant",
    "order",
    "prepare",
    "choose",
    "wear",
    "borrow",
    "print",
    "explain",
    "forget",
    "need",
    "have",
)


def ask_what(g: Grammar) -> Sentence:
    """What did you buy yesterday?"""
    tense = g.rng.choice(("past", "past", "present", "future"))
    subject, vp, frame = g.action(
        tense,
        need="objects",
        ask="object",
        subject=g.asked(),
        suits=lambda verb, frame: not frame.marker and not frame.unmarked and verb.key in WHAT,
    )
    setting = Setting(g.setting(frame, tense, vp).time)
    done = clause(subject, vp, tense, question=True, setting=setting)
    return finish("what question", f"what {done.en}", done.fa, [done], question=True)


def ask_whom(g: Grammar) -> Sentence:
    """Who did you see at the market?"""
    tense = g.rng.choice(("past", "past", "future"))
    people = {"call", "see", "meet", "help", "thank", "invite", "visit.person"}
    subject, vp, frame = g.action(
        tense,
        need="objects",
        ask="who",
        subject=g.asked(),
        suits=lambda verb, frame: verb.key in people and frame.objects[0] in ("person", "family"),
    )
    setting = Setting(g.setting(frame, tense, vp).time)
    done = clause(subject, vp, tense, question=True, setting=setting)
    return finish("whom question", f"who {done.en}", done.fa, [done], question=True)


def ask_who(g: Grammar) -> Sentence:
    """Who broke the window?"""
    tense = g.rng.choice(("past", "past", "past", "future"))
    _, vp, frame = g.action(
        tense, subject=WHO, suits=lambda verb, frame: frame.article != "own" and verb.key != "marry"
    )
    setting = Setting(g.setting(frame, tense, vp).time)
    done = clause(WHO, vp, tense, setting=setting)
    return finish("who question", done.en, done.fa, [done], question=True)


def ask_where(g: Grammar) -> Sentence:
    """Where does your brother work?"""
    tense = g.rng.choice(("past", "past", "present", "future"))
    subject, vp, frame = g.action(
        tense,
        ask="place",
        subject=g.asked(),
        suits=lambda verb, frame: bool(frame.at or frame.to) and not frame.spots and verb.key != "go.home",
        extras=0,
    )
    setting = Setting(g.setting(frame, tense, vp).time)
    if setting.time and setting.time.en.startswith("at "):
        setting = Setting()
    done = clause(subject, vp, tense, question=True, setting=setting)
    return finish("where question", f"where {done.en}", done.fa, [done], question=True)


def ask_when(g: Grammar) -> Sentence:
    """When will you return from Shiraz?"""
    tense = g.rng.choice(("past", "past", "future"))
    subject, vp, _ = g.action(tense, subject=g.asked(), suits=lambda v, f: f.kind in ("act", "event"))
    done = clause(subject, vp, tense, question=True, setting=Setting(Phrase("", "کی")))
    return finish("when question", f"when {done.en}", done.fa, [done], question=True)


def ask_why(g: Grammar) -> Sentence:
    """Why did you not come to school yesterday?"""
    tense = g.rng.choice(("past", "past", "progressive"))
    negative = g.chance(0.5)
    subject, vp, frame = g.action(
        tense, subject=g.asked(), negative=negative, suits=lambda v, f: f.kind in ("act", "event")
    )
    setting = Setting(g.setting(frame, tense, vp).time)
    done = clause(subject, vp, tense, negative=negative, question=True, setting=setting)
    return finish("why question", f"why {done.en}", f"چرا {done.fa}", [done], question=True)


def ask_how(g: Grammar) -> Sentence:
    """How did you go to the airport?"""
    tense = g.rng.choice(("past", "future", "present"))
    subject, vp, frame = g.action(tense, need="vehicle", ask="how", extras=0, subject=g.asked())
    setting = Setting() if tense == "present" else Setting(g.setting(frame, tense, vp).time)
    done = clause(subject, vp, tense, question=True, setting=setting)
    return finish("how question", f"how {done.en}", done.fa, [done], question=True)


COUNTED = {
    "read": "read",
    "write": "write",
    "buy": "buy",
    "eat": "eatsome",
    "plant": "plant",
    "draw": "cat",
    "see": "animal",
    "sell": "sell",
    "find": "findable",
    "break": "break",
    "send": "send",
    "print": "print",
    "order": "makefood",
    "borrow": "borrow",
    "receive": "receive",
    "repair": "repair",
}


def ask_how_many(g: Grammar) -> Sentence:
    """How many books did you read last month? Which shirt did you iron?"""
    key = g.rng.choice(sorted(COUNTED))
    verb = g.lexicon.verbs[key]
    noun = g.noun((COUNTED[key],))
    if noun.count != "count":
        return ask_how_many(g)
    which = g.chance(0.4)
    subject = g.asked()
    question = f"کدام {noun.fa} را" if which else f"چند {noun.fa}"
    # Only the counted noun asks: complements such as "to Ali" would crowd the question.
    marked, near = (question, "") if which else ("", question)
    bare = VerbPhrase(verb, verb.particle, marked, "", "", near, (verb.key, noun.lemma), (f"{verb.key}|{noun.lemma}",))
    setting = Setting(g.rng.choice(g.lexicon.times["past"])) if g.chance(0.5) else Setting()
    done = clause(subject, bare, "past", question=True, setting=setting)
    opening = f"which {noun.lemma}" if which else f"how many {noun.plural}"
    return finish(
        "which question" if which else "how many question", f"{opening} {done.en}", done.fa, [done], question=True
    )


PATTERNS = (
    (yes_no, 6),
    (ask_what, 2),
    (ask_whom, 1),
    (ask_who, 2),
    (ask_where, 2),
    (ask_when, 2),
    (ask_why, 3),
    (ask_how, 1),
    (ask_how_many, 2),
)
