"""Sentence patterns around one verb: statements, negation, commands, modals, passives."""

from __future__ import annotations

from scripts.sample_corpus import persian
from scripts.sample_corpus.clauses import MATRIX, SIMPLE_MODALS, Clause, Setting, VerbPhrase, clause, extend, spaced
from scripts.sample_corpus.grammar import Grammar, Sentence, finish
from scripts.sample_corpus.lexicon import Phrase
from scripts.sample_corpus.phrases import NUMBER_WORDS, WE, YOU, NounPhrase

# What one may have done as a habit and given up.
PASTIMES = (
    "live",
    "go",
    "play",
    "swim",
    "read",
    "study",
    "eat",
    "drink",
    "sing",
    "dance",
    "run",
    "draw",
    "learn",
    "ride",
    "watch",
    "listen",
    "walk",
    "visit.person",
    "play.music",
    "exercise",
    "help",
    "speak",
    "write",
    "work",
    "teach",
    "sell",
    "drive",
    "cook",
    "travel",
    "talk",
    "chat",
    "feed",
    "sew",
    "weave",
    "buy",
    "make",
    "call",
    "plant",
    "think",
    "rest",
)


def _statement(g: Grammar, name: str, tense: str, negative: bool = False) -> Sentence:
    # A place that completes the verb leaves room for fewer extras.
    subject, vp, frame = g.action(tense, negative=negative, extras=g.rng.choice((1, 1, 2)))
    setting = g.setting(frame, tense, vp, negative)
    if tense == "present" and vp.verb.en == vp.verb.past and not (setting.time or setting.frequency):
        return _statement(g, name, tense, negative)  # "they cut bread" has no tense of its own
    done = clause(subject, vp, tense, negative=negative, setting=setting)
    return finish(name, done.en, done.fa, [done])


def past(g: Grammar) -> Sentence:
    """I bought a book yesterday."""
    return _statement(g, "past", "past")


def past_negative(g: Grammar) -> Sentence:
    """I did not see the teacher."""
    return _statement(g, "past negative", "past", True)


def present(g: Grammar) -> Sentence:
    """She drinks tea every morning."""
    return _statement(g, "present", "present")


def present_negative(g: Grammar) -> Sentence:
    """He does not eat meat."""
    return _statement(g, "present negative", "present", True)


def progressive(g: Grammar) -> Sentence:
    """She is reading a book."""
    return _statement(g, "progressive", "progressive", g.chance(0.15))


def perfect(g: Grammar) -> Sentence:
    """I have read this book."""
    return _statement(g, "perfect", "perfect", g.chance(0.35))


def future(g: Grammar) -> Sentence:
    """We will travel to Shiraz next week."""
    return _statement(g, "future", "future", g.chance(0.2))


def used_to(g: Grammar) -> Sentence:
    """I used to live in Shiraz."""
    subject, vp, _ = g.action("used to", suits=lambda v, f: v.key in PASTIMES and f.article in ("", "generic"))
    done = clause(subject, vp, "used to")
    return finish("used to", done.en, done.fa, [done])


def modal(g: Grammar) -> Sentence:
    """You must finish your homework."""
    tense = g.rng.choice((*SIMPLE_MODALS, "could"))
    negative = g.chance(0.3) or tense == "could"
    ban = "modal"
    subject, vp, frame = g.action("", ban=ban, negative=negative, style_tense="modal", extras=1)
    setting = g.setting(frame, "future", vp) if tense in ("must", "may") else Setting()
    done = clause(subject, vp, tense, negative=negative, setting=setting)
    return finish(f"modal {tense}", done.en, done.fa, [done])


def matrix(g: Grammar) -> Sentence:
    """I want to buy a car; she decided to leave Tehran."""
    tense = g.rng.choice(sorted(MATRIX))
    negative = tense in ("want", "wanted", "have to", "like to") and g.chance(0.2)
    subject, vp, frame = g.action("", ban="want", style_tense="modal")
    if "easily" in vp.lemmas:
        return matrix(g)
    setting = g.setting(frame, "future", vp) if tense in ("want", "plan", "have to") else Setting()
    setting = Setting(setting.time)
    done = clause(subject, vp, tense, negative=negative, setting=setting)
    return finish(f"matrix {tense}", done.en, done.fa, [done])


def _command(g: Grammar, subject: NounPhrase, negative: bool = False) -> VerbPhrase:
    while True:
        _, vp, _ = g.action("", ban="imperative", subject=subject, negative=negative, style_tense="modal")
        # One does not command ease or joy.
        if not {"well", "easily", "happily"} & set(vp.lemmas):
            return vp


def imperative(g: Grammar) -> Sentence:
    """Please open the window. Do not forget your umbrella."""
    negative = g.chance(0.35)
    vp = _command(g, YOU, negative)
    polite = g.chance(0.5)
    en = spaced("please" if polite else "", "do not" if negative else "", vp.english_base)
    fa = spaced("لطفاً" if polite else "", vp.fa_complements, vp.conjugator.imperative(negative))
    done = Clause(en, fa, vp.lemmas, vp.keys)
    return finish("imperative negative" if negative else "imperative", en, fa, [done])


def let_us(g: Grammar) -> Sentence:
    """Let us go to the park."""
    vp = _command(g, WE)
    done = Clause(f"let us {vp.english_base}", f"بیایید {vp.infinitive((1, True))}", vp.lemmas, vp.keys)
    return finish("let us", done.en, done.fa, [done])


def passive(g: Grammar) -> Sentence:
    """The letter was written yesterday."""
    verbs = [verb for verb in g.lexicon.verbs.values() if verb.passive]
    while True:
        verb = g.rng.choice(verbs)
        noun = g.noun(verb.frames[0].objects)
        if noun.count in ("count", "mass", "pair", "unique"):
            break
    style = "the" if noun.count in ("mass", "unique") or noun.is_person else g.rng.choice(("the", "this", "plural"))
    if noun.count == "pair":
        style = "the"
    subject = g.phrases.build(noun, style)
    time = g.rng.choice(g.lexicon.times["past"]) if g.chance(0.6) else Phrase("", "")
    negative = g.chance(0.2)
    en = spaced(subject.en, "were" if subject.plural else "was", "not" if negative else "", verb.participle, time.en)
    finite = persian.Conjugator(verb.fa_past, verb.fa_present, verb.fa_nonverbal, verb.fa_prefix)
    fa = spaced(subject.fa, time.fa, finite.passive_past(subject.agreement, negative))
    done = extend(Clause(en, fa, subject.lemmas), (verb.key,), (f"{verb.key}|{noun.lemma}",))
    return finish("passive", en, fa, [done])


def duration(g: Grammar) -> Sentence:
    """We waited for an hour; I studied for three hours."""
    unit_en, unit_fa = g.rng.choice((("hours", "ساعت"), ("days", "روز"), ("minutes", "دقیقه"), ("weeks", "هفته")))
    units = {
        "study": ("hours",),
        "work": ("hours", "days", "weeks"),
        "sleep": ("hours",),
        "rest": ("hours", "minutes", "days"),
        "exercise": ("minutes", "hours"),
        "walk": ("minutes", "hours"),
        "stay": ("days", "weeks"),
        "swim": ("minutes",),
        "wait": ("minutes", "hours"),
        "dance": ("hours",),
        "run": ("minutes",),
    }
    key = g.rng.choice(sorted(units))
    if unit_en not in units[key]:
        return duration(g)
    ranges = {"minutes": (5, 10, 12), "days": (2, 3, 4, 5, 10), "weeks": (2, 3, 4)}
    number = g.rng.choice(ranges.get(unit_en, (5, 6, 7, 8, 9) if key in ("sleep", "work") else (2, 3, 4)))
    verb = g.lexicon.verbs[key]
    subject = g.phrases.subject()
    frame = verb.frames[0]
    vp = g.verbs.vary(verb, frame, subject, "past", extras=0)
    if vp is None:
        return duration(g)
    length = Phrase(f"for {NUMBER_WORDS[number - 1]} {unit_en}", f"{g.lexicon.numbers[number - 1]} {unit_fa}")
    done = clause(subject, vp, g.rng.choice(("past", "past", "future")), setting=Setting(length))
    return finish("duration", done.en, done.fa, [done])


PATTERNS = (
    (past, 12),
    (past_negative, 4),
    (present, 7),
    (present_negative, 3),
    (progressive, 5),
    (perfect, 5),
    (future, 5),
    (used_to, 2),
    (modal, 7),
    (matrix, 7),
    (imperative, 6),
    (let_us, 2),
    (passive, 2),
    (duration, 2),
)
