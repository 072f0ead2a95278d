"""Sentence patterns that point, compare and measure: this is, bigger than, the biggest, age, price, hour, weather."""

from __future__ import annotations

from scripts.sample_corpus import english, persian, tenses
from scripts.sample_corpus.clauses import Clause, be_clause, extend, spaced
from scripts.sample_corpus.grammar import Grammar, Sentence, finish
from scripts.sample_corpus.lexicon import Phrase
from scripts.sample_corpus.patterns_nominal import is_owned
from scripts.sample_corpus.phrases import FULL_PRONOUNS, NUMBER_WORDS, NounPhrase

MINE = {"my": "mine", "your": "yours", "our": "ours", "his": "his", "her": "hers", "their": "theirs"}


def demonstrative(g: Grammar) -> Sentence:
    """This is my book. These are Ali's shoes. Whose umbrella is this?"""
    noun = g.noun(("owned", "findable"))
    if noun.count == "pair" or (not is_owned(noun) and g.chance(0.5)):
        return demonstrative(g)
    if g.chance(0.25):
        fa = f"این {noun.fa} مال کیست"
        done = Clause(f"whose {noun.lemma} is this", fa, (noun.lemma,), (f"whose|{noun.lemma}",))
        return finish("whose question", done.en, fa, [done], question=True)
    style = "owned full" if is_owned(noun) else "a"
    adjective = g.phrases.adjective(noun) if g.chance(0.3) else None
    noun_phrase = g.phrases.build(noun, style, adjective, g.phrases.owner() if style != "a" else None)
    question, negative = g.chance(0.25), g.chance(0.2)
    no = negative and not question
    copula = persian.be_present((3, False), no)
    en = f"is this {noun_phrase.en}" if question else spaced("this is", "not" if no else "", noun_phrase.en)
    fa = spaced("آیا" if question else "", "این", noun_phrase.fa, copula)
    done = Clause(en, fa, noun_phrase.lemmas, (*noun_phrase.keys, f"this|{noun.lemma}"))
    return finish("demonstrative", en, fa, [done], question=question)


def comparison(g: Grammar) -> Sentence:
    """Ali is taller than his brother. My car is newer than yours. This book is better than that book."""
    draw = g.rng.random()
    if draw < 0.45:
        subject, compared = g.phrases.subject(), g.phrases.anyone(g.phrases.name())
        if subject.person == compared.person or subject.plural or set(subject.lemmas) & set(compared.lemmas):
            compared = g.phrases.name()
        if set(subject.lemmas) & set(compared.lemmas):
            return comparison(g)
        pool = [a for a in g.phrases.traits if a.comparative and not a.who]
        adjective = g.rng.choice(pool)
        en_other, fa_other = compared.object_en or compared.en, compared.fa
        key = f"{adjective.lemma}|{subject.noun.lemma}" if subject.noun else f"{adjective.lemma}|>"
        lemmas = compared.lemmas
    else:
        noun, adjective = g.describable()
        if (
            not adjective.comparative
            or noun.count != "count"
            or (noun.kind == "place" and noun.lemma in ("sea", "mountain"))
        ):
            return comparison(g)
        key, lemmas = f"{adjective.lemma}|{noun.lemma}", (noun.lemma,)
        if is_owned(noun) and g.chance(0.6):
            first, second = g.rng.sample(sorted(FULL_PRONOUNS), 2)
            if {first, second} in ({"his", "her"}, {"his", "their"}, {"her", "their"}):
                return comparison(g)
            # In a contrast Persian says the whole pronoun: ماشین من از ماشین شما جدیدتر است.
            head = persian.ezafe(noun.fa)
            subject = NounPhrase(f"{first} {noun.lemma}", f"{head} {FULL_PRONOUNS[first]}")
            en_other, fa_other = MINE[second], f"{head} {FULL_PRONOUNS[second]}"
        else:
            subject = g.phrases.build(noun, "this")
            en_other, fa_other = f"that {noun.lemma}", f"آن {noun.fa}"
    negative, question = g.chance(0.12), subject.person != 1 and g.chance(0.15)
    tail_fa = f"از {fa_other} {adjective.fa_comparative}"
    done = be_clause(
        subject,
        f"{adjective.comparative} than {en_other}",
        tail_fa,
        negative=negative and not question,
        question=question,
    )
    done = extend(done, (adjective.lemma, *lemmas), (key,))
    return finish("comparison", done.en, f"آیا {done.fa}" if question else done.fa, [done], question=question)


SCOPES = (
    Phrase("in the city", "شهر"),
    Phrase("in the world", "جهان"),
    Phrase("in Iran", "ایران"),
    Phrase("in this shop", "این مغازه"),
    Phrase("in the house", "خانه"),
    Phrase("in Tehran", "تهران"),
)


def superlative(g: Grammar) -> Sentence:
    """This is the biggest park in the city. Sara is the youngest student in the class."""
    if g.chance(0.35):
        noun = g.noun(("worker",))
        pool = [a for a in g.phrases.traits if a.comparative and not a.who]
        adjective = g.rng.choice(pool)
        subject = g.phrases.name() if g.chance(0.7) else g.phrases.person(g.rng.choice(g.phrases.family))
        if subject.plural:
            return superlative(g)
        scopes = {
            "teacher": ("in the school", "مدرسه"),
            "pupil": ("in the class", "کلاس"),
            "student": ("in the class", "کلاس"),
            "doctor": ("in the hospital", "بیمارستان"),
            "nurse": ("in the hospital", "بیمارستان"),
        }
        scope_en, scope_fa = scopes.get(noun.lemma, ("in the city", "شهر"))
        lemmas = subject.lemmas
    else:
        noun, adjective = g.describable()
        if not adjective.superlative or noun.count != "count":
            return superlative(g)
        goods = "buy" in noun.tags or "buyfood" in noun.tags or "cheapish" in noun.tags
        pool2 = [SCOPES[3]] if goods else SCOPES[:3] + SCOPES[5:] if noun.kind == "place" else [SCOPES[1]]
        if noun.lemma in ("city", "room", "kitchen", "bedroom", "living room", "bathroom", "classroom", "village"):
            pool2 = [SCOPES[4]] if "room" in noun.tags else [SCOPES[2]]
        scope = g.rng.choice(list(pool2))
        scope_en, scope_fa = scope.en, scope.fa
        subject, lemmas = NounPhrase("this", "این"), ()
    en = f"the {adjective.superlative} {noun.lemma} {scope_en}"
    fa = f"{persian.superlative(adjective.fa_comparative)} {persian.ezafe(noun.fa)} {scope_fa}"
    question = g.chance(0.15)
    done = be_clause(subject, en, fa, question=question)
    done = extend(done, (adjective.lemma, noun.lemma, *lemmas), (f"{adjective.lemma}|{noun.lemma}",))
    return finish("superlative", done.en, f"آیا {done.fa}" if question else done.fa, [done], question=question)


def _count_word(g: Grammar, number: int) -> tuple[str, str]:
    if number <= 12:
        return NUMBER_WORDS[number - 1], g.lexicon.numbers[number - 1]
    tens = list(g.lexicon.tens.items())[number // 10 - 2]
    unit = number % 10
    if not unit:
        return tens
    return f"{tens[0]}-{NUMBER_WORDS[unit - 1]}", f"{tens[1]} و {g.lexicon.numbers[unit - 1]}"


def age_or_price(g: Grammar) -> Sentence:
    """My brother is twenty-five years old. This shirt costs thirty dollars."""
    number = g.rng.choice(list(range(3, 13)) + list(range(20, 90)))
    en_number, fa_number = _count_word(g, number)
    if g.chance(0.55):
        subject = g.phrases.subject()
        if subject.plural and subject.person == 3:
            return age_or_price(g)
        lemma = subject.noun.lemma if subject.noun else ""
        if subject.noun and subject.noun.kind in ("worker", "family", "human"):
            young = lemma in ("pupil", "boy", "girl", "child", "son", "daughter", "classmate")
            if young != (number < 15) or (lemma.startswith("grand") and number < 60):
                return age_or_price(g)
        copula = english.be(subject.person, subject.plural)
        have = persian.Conjugator("داشت", "دار").simple_present(subject.agreement)
        en = f"{subject.en} {copula} {en_number} years old"
        fa = spaced("" if subject.droppable else subject.fa, fa_number, "سال", have)
        done = Clause(en, fa, subject.lemmas, (f"age{number}|{lemma}",))
        return finish("age", en, fa, [done])
    noun = g.noun(("cheapish", "buy", "expensive"))
    if noun.count != "count" or noun.lemma in ("car", "carpet") or "vehicle" in noun.tags:
        return age_or_price(g)
    if ("study" in noun.tags or noun.lemma in ("sock", "ball", "candle", "newspaper", "magazine")) and number > 12:
        return age_or_price(g)
    subject = g.phrases.build(noun, g.rng.choice(("this", "the")))
    en = f"{subject.en} costs {en_number} dollars"
    fa = f"قیمت {subject.fa} {fa_number} دلار است"
    done = Clause(en, fa, subject.lemmas, (f"price{number}|{noun.lemma}",))
    return finish("price", en, fa, [done])


def event_time(g: Grammar) -> Sentence:
    """The class starts at nine o'clock. The film ended two hours ago."""
    noun = g.noun(("event",))
    subject = g.phrases.build(noun, g.rng.choice(("the", "this")) if noun.lemma != "wedding" else "the")
    en_verb, fa_past, fa_present = g.rng.choice((("start", "شروع شد", "شروع می‌شود"), ("end", "تمام شد", "تمام می‌شود")))
    clock = tenses.clock(g.phrases)
    tense = g.rng.choice(("present", "past", "ask"))
    day = g.rng.choice(g.lexicon.times["past"][:3]) if g.chance(0.3) else Phrase("", "")
    if tense == "ask":
        en, fa = f"when does {subject.en} {en_verb}", f"{subject.fa} کی {fa_present}"
    elif tense == "past":
        en = spaced(subject.en, f"{en_verb}ed", clock.en, day.en)
        fa = spaced(subject.fa, day.fa, clock.fa, fa_past)
    else:
        en, fa = f"{subject.en} {en_verb}s {clock.en}", f"{subject.fa} {clock.fa} {fa_present}"
    done = Clause(en, fa, (*subject.lemmas, en_verb), (f"{en_verb}|{noun.lemma}",))
    return finish("event time", en, fa, [done], question=tense == "ask")


def weather(g: Grammar) -> Sentence:
    """It was cold in Tehran yesterday. The weather will be sunny tomorrow."""
    adjective = g.rng.choice(g.weather)
    place = g.rng.choice(g.lexicon.tagged(("town0",), places=True)) if g.chance(0.6) else None
    tense = g.rng.choice(("past", "present", "future"))
    times = {
        "past": g.lexicon.times["past"][:7],
        "present": [Phrase("today", "امروز")],
        "future": g.lexicon.times["future"][:4],
    }
    time = g.rng.choice(times[tense])
    en_place, fa_place = (place.at, place.fa) if place else ("", "")
    head = f"هوای {fa_place}" if place else "هوا"
    verb = {"past": ("was", "بود"), "present": ("is", "است"), "future": ("will be", "خواهد بود")}[tense]
    en = spaced("the weather", en_place, verb[0], adjective.en, time.en)
    fa = spaced(head, time.fa, adjective.fa, verb[1])
    lemmas = (adjective.lemma,) + ((place.lemma,) if place else ())
    done = Clause(en, fa, lemmas, (f"{adjective.lemma}|{place.lemma if place else 'weather'}",))
    return finish("weather", en, fa, [done])


def pain(g: Grammar) -> Sentence:
    """My head hurts. Her teeth hurt last night."""
    noun = g.noun(("body", "bodyone"))
    if noun.lemma == "face":
        return pain(g)
    owner = g.phrases.owner()
    style = "owned plural" if noun.lemma in ("eye", "foot", "knee") and g.chance(0.4) else "owned"
    subject = g.phrases.build(noun, style, owner=owner)
    tense = g.rng.choice(("present", "past"))
    time = g.rng.choice(g.lexicon.times["past"][:2]) if tense == "past" else Phrase("", "")
    parts = ("hurt", "hurt", "hurt", "hurting")
    hurt = persian.Conjugator("کرد", "کن", "درد")
    form = hurt.simple_present if tense == "present" else hurt.imperfect
    en = spaced(subject.en, *english.verb_group(parts, tense, 3, subject.plural, False), time.en)
    fa = spaced(subject.fa, time.fa, form((3, False)))
    done = Clause(en, fa, subject.lemmas, (f"hurt|{noun.lemma}",))
    return finish("pain", en, fa, [done])


PATTERNS = (
    (demonstrative, 3),
    (comparison, 5),
    (superlative, 3),
    (age_or_price, 3),
    (event_time, 1),
    (weather, 1),
    (pain, 1),
)
