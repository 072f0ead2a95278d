"""Sentence patterns with a clause of cause, time, condition or opinion: because, when, if, that."""

from __future__ import annotations

from scripts.sample_corpus import english, persian
from scripts.sample_corpus.clauses import Clause, Setting, be_clause, clause, extend, spaced
from scripts.sample_corpus.grammar import Grammar, Sentence, finish
from scripts.sample_corpus.phrases import HE, SHE, I, NounPhrase, reference

HAVE = persian.Conjugator("داشت", "دار")


def again(subject: NounPhrase) -> NounPhrase:
    """The pronoun for the subject in a second clause; Persian leaves it out there."""
    pronoun = reference(subject)
    assert pronoun is not None
    return pronoun


def named_subject(g: Grammar) -> NounPhrase:
    """A subject that a pronoun can take up again."""
    while True:
        subject = g.phrases.subject()
        if reference(subject) is not None:
            return subject


def because(g: Grammar) -> Sentence:
    """She went home because she was tired. I did not go to the park because it was raining."""
    if g.chance(0.5):
        subject = named_subject(g)
        _, vp, frame = g.action("past", need="because", subject=subject)
        adjective = g.lexicon.adjectives[g.rng.choice(frame.because)]
        first = clause(subject, vp, "past")
        reason = be_clause(again(subject), adjective.en, adjective.fa, "past", drop=True)
        second = extend(reason, (adjective.lemma,), (f"{vp.verb.key}|because {adjective.lemma}",))
        return finish("because", f"{first.en} because {second.en}", f"{first.fa}، چون {second.fa}", [first, second])
    subject = named_subject(g)
    outdoor = {"go", "walk", "run", "swim", "play", "come", "travel", "climb", "ride"}
    _, vp, frame = g.action(
        "past",
        subject=subject,
        negative=True,
        suits=lambda v, f: (
            f.kind != "state"
            and v.key
            not in (
                "laugh",
                "cry",
                "smile",
                "enjoy",
                "break",
                "lose",
                "fall",
                "sleep",
                "rest",
                "receive",
                "forget",
                "hear",
                "find",
                "remember",
                "understand",
                "see",
                "trust",
                "go.doctor",
                "take.medicine",
            )
        ),
    )
    setting = g.setting(frame, "past", vp, True) if g.chance(0.4) else Setting()
    first = clause(subject, vp, "past", negative=True, setting=setting)
    pronoun, who = again(subject), subject.agreement
    reasons: list[tuple[str, str, str]] = [
        (f"{pronoun.en} did not have time", f"وقت {HAVE.simple_past(who, True)}", "time"),
        (f"{pronoun.en} did not have enough time", f"وقت کافی {HAVE.simple_past(who, True)}", "time"),
    ]
    for lemma in ("tired", "busy", "sick"):
        state = g.lexicon.adjectives[lemma]
        reasons.append(
            (
                f"{pronoun.en} {english.be(pronoun.person, pronoun.plural, True)} {state.en}",
                f"{state.fa} {persian.be_past(who)}",
                lemma,
            )
        )
    if vp.verb.key in outdoor:
        reasons += [
            ("it was raining", "باران می‌بارید", "rain"),
            ("the weather was cold", "هوا سرد بود", "cold.weather"),
        ]
    if vp.verb.key in ("buy", "travel", "order"):
        reasons += [(f"{pronoun.en} did not have enough money", f"پول کافی {HAVE.simple_past(who, True)}", "money")] * 2
    en, fa, lemma = g.rng.choice(reasons)
    return finish("because not", f"{first.en} because {en}", f"{first.fa}، چون {fa}", [first], extra=(lemma,))


ARRIVALS: tuple[tuple[str, str], ...] = (
    ("the phone rang", "تلفن زنگ زد"),
    ("the guests arrived", "مهمان‌ها رسیدند"),
    ("it started to rain", "باران شروع شد"),
    ("someone knocked on the door", "کسی در زد"),
    ("the lights went out", "برق رفت"),
)


def while_(g: Grammar) -> Sentence:
    """I was reading a book when the phone rang."""
    subject, vp, _ = g.action("past progressive")
    first = clause(subject, vp, "past progressive")
    if g.chance(0.5):
        en, fa = g.rng.choice(ARRIVALS)
        parts = [first]
    else:
        visitor = g.phrases.name() if g.chance(0.5) else g.phrases.person(g.rng.choice(g.phrases.family))
        if set(visitor.lemmas) & set(subject.lemmas + vp.lemmas):
            return while_(g)
        en_verb, arrive = g.rng.choice(
            (
                ("arrived", persian.Conjugator("رسید", "رس")),
                ("came", persian.Conjugator("آمد", "آی")),
                ("called", persian.Conjugator("زد", "زن", "زنگ")),
            )
        )
        en, fa = f"{visitor.en} {en_verb}", f"{visitor.fa} {arrive.simple_past(visitor.agreement)}"
        parts = [first, Clause(en, fa, visitor.lemmas)]
    return finish("while", f"{first.en} when {en}", f"{first.fa} که {fa}", parts)


CHILDHOOD = (
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
    "cry",
    "speak",
    "write",
    "sleep",
    "feed",
)


def when(g: Grammar) -> Sentence:
    """When I was a child, I used to live in Shiraz. When Ali came home, we were eating dinner."""
    if g.chance(0.45):
        subject = g.rng.choice((I, HE, SHE, g.phrases.name()))
        if reference(subject) is None:
            return when(g)
        en, fa = g.rng.choice((("a child", "بچه"), ("young", "جوان"), ("a student", "دانشجو")))
        grown = en != "a child"
        _, vp, _ = g.action(
            "used to",
            subject=subject,
            suits=lambda v, f: (
                f.article in ("", "generic")
                and (
                    v.key in CHILDHOOD
                    or (grown and v.key in ("work", "teach", "drive", "travel", "sell", "smoke", "cook"))
                )
            ),
        )
        first = be_clause(subject, en, fa, "past")
        second = clause(again(subject), vp, "used to", drop=True)
        # The clause already says when, so قبلاً would be one word too many.
        fa_second = second.fa.replace("قبلاً ", "", 1)
        return finish("when child", f"when {first.en}, {second.en}", f"وقتی {first.fa}، {fa_second}", [first, second])
    event_subject, event, _ = g.action(
        "past", extras=0, suits=lambda v, f: v.key in ("arrive", "enter", "return", "come", "go.home")
    )
    if g.chance(0.5):
        doer, vp, _ = g.action("past progressive", extras=0)
        tense = "past progressive"
    else:
        doer, vp, _ = g.action(
            "past",
            extras=0,
            suits=lambda v, f: (
                v.key
                in (
                    "smile",
                    "laugh",
                    "cry",
                    "turn on",
                    "turn off",
                    "open",
                    "close",
                    "call",
                    "thank",
                    "kiss",
                    "talk",
                    "leave",
                )
            ),
        )
        tense = "past"
    if doer.en == event_subject.en or set(doer.lemmas) & set(event_subject.lemmas + event.lemmas):
        return when(g)
    if doer.person != 3 and doer.person == event_subject.person:
        return when(g)  # "when I came, we smiled" does not say who "we" are
    if doer.person == 3 and event_subject.person == 3 and (doer.noun is None or event_subject.noun is None):
        return when(g)  # "when the baker came, she smiled" would leave open who smiled
    first, second = clause(event_subject, event, "past"), clause(doer, vp, tense)
    return finish("when", f"when {first.en}, {second.en}", f"وقتی {first.fa}، {second.fa}", [first, second])


def if_(g: Grammar) -> Sentence:
    """If the weather is good tomorrow, we will go to the park."""
    subject = named_subject(g)
    _, vp, _ = g.action(
        "future",
        subject=subject,
        extras=1,
        suits=lambda v, f: v.key not in ("receive", "fall", "enter", "take.medicine", "go.doctor"),
    )
    same = True  # the condition has the same subject, which Persian then says once
    draw = g.rng.random()
    pronoun, who = again(subject), subject.agreement
    opener = subject
    lemmas: tuple[str, ...] = ()
    if draw < 0.3:
        condition = Clause(
            spaced(opener.en, "has" if who == (3, False) else "have", "time"),
            spaced("" if opener.droppable else opener.fa, "وقت", HAVE.subjunctive(who)),
            (*opener.lemmas, "time"),
        )
    elif draw < 0.5:
        lemma = g.rng.choice(("tired", "busy", "sick"))
        state = g.lexicon.adjectives[lemma]
        condition = be_clause(opener, state.en, state.fa, "subjunctive", negative=True)
        lemmas = (lemma,)
        copula = english.be(opener.person, opener.plural)
        condition = Clause(f"{opener.en} {copula} not {state.en}", condition.fa, opener.lemmas)
    else:
        outside = g.rng.choice(
            (
                ("the weather is good", "هوا خوب باشد"),
                ("it does not rain", "باران نبارد"),
                ("it is not cold", "هوا سرد نباشد"),
            )
        )
        company, other_vp, _ = g.action(
            "past", extras=0, suits=lambda v, f: v.key in ("come", "help", "call", "go.home")
        )
        if draw < 0.72 and vp.verb.key in (
            "go",
            "walk",
            "run",
            "swim",
            "play",
            "travel",
            "climb",
            "ride",
            "plant",
            "come",
        ):
            condition, pronoun, same = Clause(*outside), subject, False
        elif (
            set(company.lemmas + other_vp.lemmas) & set(subject.lemmas + vp.lemmas)
            or company.en == subject.en
            or (subject.person == 3 and (company.person == 3 or subject.noun is None))
        ):
            return if_(g)
        else:
            head = english.verb_group(other_vp.parts, "present", company.person, company.plural, False)
            condition = Clause(
                spaced(company.en, *head, other_vp.en),
                spaced("" if company.droppable else company.fa, other_vp.infinitive(company.agreement)),
                company.lemmas + other_vp.lemmas,
                other_vp.keys,
            )
            pronoun, same = subject, False
    result = clause(pronoun, vp, "future", drop=same)
    return finish(
        "if", f"if {condition.en}, {result.en}", f"اگر {condition.fa}، {result.fa}", [condition, result], extra=lemmas
    )


# Verbs of saying and thinking: English, Persian verb, tenses of the matrix.
OPINIONS: tuple[tuple[tuple[str, str, str, str], persian.Conjugator], ...] = (
    (("think", "thought", "thought", "thinking"), persian.Conjugator("کرد", "کن", "فکر")),
    (("know", "knew", "known", "knowing"), persian.Conjugator("دانست", "دان")),
    (("believe", "believed", "believed", "believing"), persian.Conjugator("داشت", "دار", "باور")),
    (("say", "said", "said", "saying"), persian.Conjugator("گفت", "گوی")),
    (("hear", "heard", "heard", "hearing"), persian.Conjugator("شنید", "شنو")),
)


def that(g: Grammar) -> Sentence:
    """I think that this book is interesting. Ali said that he would come tomorrow."""
    parts, verb = OPINIONS[g.rng.randrange(len(OPINIONS))]
    subject = named_subject(g)
    if parts[0] in ("say", "hear"):
        matrix_tense, fa_verb = "past", verb.simple_past(subject.agreement)
    else:
        matrix_tense, fa_verb = "present", verb.simple_present(subject.agreement)
    main = english.verb_group(parts, matrix_tense, subject.person, subject.plural, False)
    fa_subject = "" if subject.droppable else subject.fa
    draw = g.rng.random()
    if parts[0] == "say":
        # English shifts the tense back after "said"; Persian keeps the tense of the words spoken.
        pronoun = again(subject)
        if draw < 0.4:
            adjective = g.rng.choice(g.states)
            en = f"{pronoun.en} {english.be(pronoun.person, pronoun.plural, True)} {adjective.en}"
            inner = Clause(en, f"{adjective.fa} {persian.be_present(subject.agreement)}", (adjective.lemma,))
        else:
            _, vp, frame = g.action("future", subject=subject, extras=0)
            time = g.setting(frame, "future", vp).time if g.chance(0.3) else None
            done = clause(pronoun, vp, "future", drop=True, setting=Setting(time))
            inner = Clause(done.en.replace(" will ", " would ", 1), done.fa, done.lemmas, done.keys)
    elif draw < 0.4:
        noun, adjective = g.describable()
        style = "the" if noun.count == "bare" else g.rng.choice(("this", "the"))
        noun_phrase = g.phrases.build(noun, style)
        tense = "past" if parts[0] == "hear" else "present"
        done = be_clause(noun_phrase, adjective.en, adjective.fa, tense)
        fa = done.fa if tense == "present" else be_clause(noun_phrase, adjective.en, adjective.fa, "present").fa
        inner = Clause(done.en, fa, (*done.lemmas, adjective.lemma), (f"{adjective.lemma}|{noun.lemma}",))
    else:
        tense = "past perfect" if parts[0] == "hear" else g.rng.choice(("past", "future"))
        doer, vp, frame = g.action("past" if tense == "past perfect" else tense, extras=0)
        if doer.en == subject.en or set(doer.lemmas) & set(subject.lemmas) or doer.fa == subject.fa:
            return that(g)
        # A thing heard of is reported in the perfect: شنیدم که علی رفته است.
        done = clause(doer, vp, tense)
        inner = Clause(
            done.en, clause(doer, vp, "perfect").fa if tense == "past perfect" else done.fa, done.lemmas, done.keys
        )
    en, fa = spaced(subject.en, *main, "that", inner.en), spaced(fa_subject, fa_verb, "که", inner.fa)
    return finish(f"that {parts[0]}", en, fa, [Clause("", "", (*subject.lemmas, f"{parts[0]} that")), inner])


def hope(g: Grammar) -> Sentence:
    """I hope that you find your key."""
    doer, vp, _ = g.action(
        "future",
        extras=1,
        suits=lambda v, f: (
            v.key not in ("enter", "argue", "order", "put", "throw", "carry", "take.medicine", "take off", "lock")
        ),
    )
    if doer.person == 1:
        return hope(g)
    done = clause(doer, vp, "future")
    fa = spaced("" if doer.droppable else doer.fa, vp.infinitive(doer.agreement))
    matrix = g.rng.choice((("I hope that", "امیدوارم که"), ("we hope that", "امیدواریم که")))
    return finish("hope", f"{matrix[0]} {done.en}", f"{matrix[1]} {fa}", [done])


PATTERNS = (
    (because, 8),
    (while_, 4),
    (when, 5),
    (if_, 6),
    (that, 8),
    (hope, 2),
)
