"""Sentence patterns around "to be" and "to have": qualities, places, professions, existence, possession."""

from __future__ import annotations

from dataclasses import replace

from scripts.sample_corpus import english, persian
from scripts.sample_corpus.clauses import Clause, be_clause, extend, spaced
from scripts.sample_corpus.grammar import Grammar, Sentence, finish
from scripts.sample_corpus.lexicon import Noun, Phrase
from scripts.sample_corpus.phrases import POSSESSABLE, NounPhrase


def is_owned(noun: Noun) -> bool:
    """Say whether a sentence may tell whose the noun is."""
    return any(tag in noun.tags for tag in POSSESSABLE) or noun.lemma in (
        "room",
        "garden",
        "school",
        "office",
        "village",
    )


def _noun_subject(g: Grammar, noun: Noun) -> NounPhrase:
    if noun.count == "mass":
        return g.phrases.build(noun, g.rng.choice(("the", "this")))
    if noun.kind == "place" and noun.count == "bare":
        return g.phrases.build(noun, "bare" if noun.lemma[0].isupper() else "the")
    styles = ["the", "this", "plural", "these"] + (["owned"] * 4 if is_owned(noun) else [])
    style = g.rng.choice(styles)
    if noun.kind == "place" and style in ("plural", "these"):
        style = "this"
    return g.phrases.build(noun, style, owner=g.phrases.owner() if style == "owned" else None)


def quality(g: Grammar) -> Sentence:
    """This book is very interesting."""
    noun, adjective = g.describable()
    subject = _noun_subject(g, noun)
    very = adjective.comparative != "" and g.chance(0.3)
    tense = g.rng.choice(("present", "present", "past"))
    negative = not very and g.chance(0.2)
    question = g.chance(0.15)
    done = be_clause(
        subject,
        ("very " if very else "") + adjective.en,
        ("خیلی " if very else "") + adjective.fa,
        tense,
        negative=negative and not question,
        question=question,
    )
    done = extend(done, (adjective.lemma,), (f"{adjective.lemma}|{noun.lemma}",))
    return finish("quality", done.en, f"آیا {done.fa}" if question else done.fa, [done], question=question)


def state(g: Grammar) -> Sentence:
    """I was very tired last night."""
    subject = g.phrases.subject()
    trait = g.chance(0.4)
    choices = [a for a in g.phrases.traits if not a.who] if trait else g.states
    adjective = g.rng.choice(choices)
    very = adjective.comparative != "" and g.chance(0.3)
    tense = "present" if trait else g.rng.choice(("present", "past", "past"))
    time = g.rng.choice(g.lexicon.times["past"][:2]) if tense == "past" and g.chance(0.4) else None
    question = not very and subject.person != 1 and g.chance(0.2)
    negative = not question and not very and g.chance(0.25)
    done = be_clause(
        subject,
        ("very " if very else "") + adjective.en,
        ("خیلی " if very else "") + adjective.fa,
        tense,
        negative=negative,
        question=question,
        time=time,
    )
    keys = (f"{adjective.lemma}|{subject.noun.lemma}",) if subject.noun else ()
    done = extend(done, (adjective.lemma,), keys)
    return finish("state", done.en, f"آیا {done.fa}" if question else done.fa, [done], question=question)


def located(g: Grammar) -> Sentence:
    """My keys are on the table. Ali is at school."""
    tense = g.rng.choice(("present", "past"))
    if g.chance(0.4):
        place = g.rng.choice(g.lexicon.tagged(("go", "live", "inside", "outdoor", "wait"), places=True))
        subject = g.phrases.subject()
        en, fa, lemma = place.at, f"در {place.fa}", place.lemma
        if place.lemma in ("mountain", "sea"):
            return located(g)
        key = f"{subject.noun.lemma}|@{lemma}" if subject.noun else f"be|@{lemma}"
    else:
        noun = g.noun(("findable", "ontable"))
        subject = (
            g.phrases.build(noun, "owned", owner=g.phrases.owner()) if is_owned(noun) else g.phrases.build(noun, "the")
        )
        spot = g.rng.choice(g.lexicon.spots)
        if spot.noun == noun.lemma:
            return located(g)
        en, fa, lemma = spot.en, spot.fa, spot.noun
        key = f"{noun.lemma}|@{lemma}"
    question = subject.person != 1 and g.chance(0.2)
    negative = not question and g.chance(0.25)
    done = extend(be_clause(subject, en, fa, tense, negative=negative, question=question), (lemma,), (key,))
    return finish("located", done.en, f"آیا {done.fa}" if question else done.fa, [done], question=question)


def ask_location(g: Grammar) -> Sentence:
    """Where are my glasses?"""
    noun = g.noun(("findable", "owned", "family", "town"))
    if noun.kind == "family":
        subject = g.phrases.person(noun)
    elif noun.kind == "place":
        subject = g.phrases.build(noun, "the")
    else:
        style = g.rng.choice(("the", "owned", "owned")) if is_owned(noun) else "the"
        subject = g.phrases.build(noun, style, owner=g.phrases.owner() if style == "owned" else None)
    done = extend(be_clause(subject, "", "کجا", question=True), (), (f"where|{noun.lemma}",))
    return finish("where is", f"where {done.en}", done.fa, [done], question=True)


def profession(g: Grammar) -> Sentence:
    """My sister is a doctor. He is a kind teacher."""
    subject = g.phrases.subject()
    if subject.plural or (subject.noun and subject.noun.kind == "worker"):
        return profession(g)
    noun = g.noun(("worker",))
    adjective = g.phrases.adjective(noun) if g.chance(0.35) else None
    job = g.phrases.build(noun, "a", adjective)
    # A bare profession has no یک in Persian; a described one has.
    fa = job.fa if adjective else noun.fa
    if subject.person == 2:
        return profession(g)
    tense, question = g.rng.choice(("present", "present", "past")), subject.person != 1 and g.chance(0.2)
    negative = not question and adjective is None and g.chance(0.2)
    done = be_clause(subject, job.en, fa, tense, negative=negative, question=question)
    keys = (f"{noun.lemma}|={subject.noun.lemma}",) if subject.noun else ()
    done = extend(done, job.lemmas, job.keys + keys)
    return finish("profession", done.en, f"آیا {done.fa}" if question else done.fa, [done], question=question)


def existence(g: Grammar) -> Sentence:
    """There are three cups on the table. There is a bank near here."""
    tense = g.rng.choice(("present", "present", "past"))
    question, negative = g.chance(0.2), g.chance(0.2)
    if g.chance(0.25):
        noun = g.rng.choice(g.lexicon.tagged(("town",), places=True))
        where = g.rng.choice(
            (
                Phrase("near here", "نزدیک اینجا"),
                Phrase("near our house", "نزدیک خانه‌ی ما"),
                Phrase("in this city", "در این شهر"),
                Phrase("in our village", "در روستای ما"),
                Phrase("in this street", "در این خیابان"),
            )
        )
        lemma = where.en.split()[-1]
    else:
        noun = g.noun(("ontable", "dish", "carry", "buyfood", "drink", "pet"))
        spot = g.rng.choice(g.lexicon.spots)
        if spot.noun == noun.lemma or spot.en.startswith("in my") or "desk" in spot.en:
            return existence(g)
        if "dish" in noun.tags and spot.noun not in ("table", "shelf", "kitchen", "drawer"):
            return existence(g)
        where, lemma = Phrase(spot.en, spot.fa), spot.noun
        if "buyfood" in noun.tags or "drink" in noun.tags:
            where, lemma = g.rng.choice(
                (
                    (Phrase("in the refrigerator", "در یخچال"), "refrigerator"),
                    (Phrase("on the table", "روی میز"), "table"),
                    (Phrase("in the kitchen", "در آشپزخانه"), "kitchen"),
                )
            )
    if noun.count == "pair":
        return existence(g)
    if noun.count == "mass":
        noun_phrase = g.phrases.build(noun, "bare" if question or negative else "some")
        if question or negative:
            noun_phrase = replace(noun_phrase, en=f"any {noun_phrase.en}")
    elif negative and not question:
        # "There is no cup": Persian says the bare noun and negates the verb.
        bare = g.phrases.build(noun, "bare")
        noun_phrase = replace(bare, en=f"no {bare.en}")
    else:
        style = "a" if noun.kind == "place" or question else g.rng.choice(("a", "two", "three", "four", "five", "six"))
        adjective = g.phrases.adjective(noun) if g.chance(0.25) else None
        noun_phrase = g.phrases.build(noun, style, adjective)
    copula = english.be(3, noun_phrase.plural, tense == "past")
    if question:
        negative = False
        en = spaced(copula, "there", noun_phrase.en, where.en)
    elif negative and noun.count == "mass":
        en = spaced("there", copula, "not", noun_phrase.en, where.en)
    else:
        en = spaced("there", copula, noun_phrase.en, where.en)
    form = ("ن" if negative else "") + "بود" if tense == "past" else "نیست" if negative else "هست"
    fa = spaced("آیا" if question else "", where.fa, noun_phrase.fa, form)
    done = Clause(en, fa, (*noun_phrase.lemmas, lemma), (*noun_phrase.keys, f"{noun.lemma}|@{lemma}"))
    return finish("existence", en, fa, [done], question=question)


def possession(g: Grammar) -> Sentence:
    """I have two brothers. Do you have a car?"""
    subject = g.phrases.subject()
    noun = g.noun(("owned", "pet", "device", "family"))
    if (
        noun.lemma in ("father", "mother", "grandfather", "grandmother", "neighbor", "wife", "colleague", "classmate")
        or noun.count == "pair"
    ):
        return possession(g)
    if noun.is_person and noun.lemma in subject.lemmas:
        return possession(g)
    number = g.rng.choice(("one", "two", "three", "four")) if noun.is_person else g.rng.choice(("a", "a", "two"))
    adjective = g.phrases.adjective(noun) if g.chance(0.3) and not noun.is_person else None
    question, negative = subject.person != 1 and g.chance(0.25), g.chance(0.2)
    tense = "present" if g.chance(0.7) else "past"
    if question or negative:
        number = "a"
    noun_phrase = g.phrases.build(noun, number, adjective)
    # After a negation and in a question Persian drops یک: ماشین ندارم.
    fa_thing = noun_phrase.fa.removeprefix("یک ") if negative or question else noun_phrase.fa
    have = persian.Conjugator("داشت", "دار")
    form = have.simple_past if tense == "past" else have.simple_present
    parts = ("have", "had", "had", "having")
    no = negative and not question
    group = (english.question_group if question else english.verb_group)(
        parts, tense, subject.person, subject.plural, no
    )
    en = (
        spaced(group[0], subject.en, group[2], noun_phrase.en)
        if question
        else spaced(subject.en, *group, noun_phrase.en)
    )
    fa = spaced(
        "آیا" if question else "", "" if subject.droppable else subject.fa, fa_thing, form(subject.agreement, no)
    )
    done = Clause(en, fa, subject.lemmas + noun_phrase.lemmas, (*noun_phrase.keys, f"have|{noun.lemma}"))
    return finish("possession", en, fa, [done], question=question)


PATTERNS = (
    (quality, 8),
    (state, 6),
    (located, 5),
    (ask_location, 2),
    (profession, 4),
    (existence, 5),
    (possession, 4),
)
