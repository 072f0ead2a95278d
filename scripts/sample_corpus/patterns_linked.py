"""Sentence patterns of linked clauses: relative, purpose, and, but, before and after."""

from __future__ import annotations

from scripts.sample_corpus import english, persian
from scripts.sample_corpus.clauses import Clause, Setting, VerbPhrase, clause, extend, spaced
from scripts.sample_corpus.grammar import Grammar, Sentence, finish
from scripts.sample_corpus.lexicon import Frame, Verb
from scripts.sample_corpus.patterns_complex import again, named_subject
from scripts.sample_corpus.phrases import HE, SHE, THEY, WE, YOU, I


def relative_object(g: Grammar) -> Sentence:
    """The book that I bought yesterday is interesting."""
    pairs = (
        ("read", "read"),
        ("buy", "buy"),
        ("write", "write"),
        ("see", "animal"),
        ("sell", "sell"),
        ("wear", "wear"),
        ("repair", "repair"),
        ("send", "send"),
        ("bring", "carry"),
        ("cook", "cook"),
        ("watch", "watch"),
        ("eat", "food"),
        ("find", "findable"),
        ("borrow", "borrow"),
        ("draw", "beautiful"),
        ("drink", "drink"),
        ("choose", "wear"),
    )
    key, tag = g.rng.choice(pairs)
    verb, noun = g.lexicon.verbs[key], g.noun((tag,))
    adjectives = [
        a for a in g.phrases.describing[noun.lemma] if a.kind in ("quality", "color") and not a.predicate_only
    ]
    if key == "draw":
        noun = g.noun(("tree", "cat", "bird", "horse", "flower", "map"))
        adjectives = [g.lexicon.adjectives["beautiful"]]
    if not adjectives or noun.count in ("bare", "unique", "pair"):
        return relative_object(g)
    adjective = g.rng.choice(adjectives)
    subject = g.phrases.subject()
    plural = noun.count == "count" and g.chance(0.25)
    head = g.phrases.build(noun, "plural" if plural else "the")
    time = g.rng.choice(g.lexicon.times["past"]) if g.chance(0.5) else None
    vp = VerbPhrase(verb, lemmas=(key,), keys=(f"{key}|{noun.lemma}",))
    inner = clause(subject, vp, "past", setting=Setting(time))
    tense = "past" if key in ("cook", "eat", "drink", "watch") else "present"
    en = f"{head.en} that {inner.en} {english.be(3, plural, tense == 'past')} {adjective.en}"
    copula = persian.be_past((3, plural)) if tense == "past" else persian.be_present((3, plural))
    fa = f"{persian.with_indefinite_ye(head.fa)} که {inner.fa} {adjective.fa} {copula}"
    done = extend(inner, (noun.lemma, adjective.lemma), (f"{adjective.lemma}|{noun.lemma}",))
    return finish("relative object", en, fa, [done])


def relative_subject(g: Grammar) -> Sentence:
    """The woman who lives in this house is a nurse. I know the man who bought the car."""
    noun = g.rng.choice(g.phrases.people)
    plural = g.chance(0.25)
    head = g.phrases.build(noun, "plural" if plural else "the")
    tense = g.rng.choice(("past", "past", "present", "progressive"))
    _, vp, frame = g.action(
        tense, subject=head, extras=1, suits=lambda v, f: f.article != "own" and v.key not in ("like", "marry")
    )
    setting = Setting(g.setting(frame, tense, vp).time) if g.chance(0.5) else Setting()
    if tense == "present" and vp.verb.en == vp.verb.past and not setting.time:
        return relative_subject(g)  # "the boys who cut bread" has no tense of its own
    inner = clause(head, vp, tense, drop=True, setting=setting)
    en_inner = inner.en.removeprefix(head.en).strip()
    if setting.time and setting.first:
        return relative_subject(g)
    fa_head = persian.with_indefinite_ye(head.fa)
    draw = g.rng.random()
    if draw < 0.45:
        family = g.rng.choice(
            ("father", "mother", "brother", "sister", "uncle", "aunt", "friend", "neighbor", "colleague")
        )
        relation = g.lexicon.nouns[family]
        if relation.gender and relation.gender != noun.gender and noun.gender:
            return relative_subject(g)
        if plural or relation.lemma in vp.lemmas or noun.lemma in ("boy", "girl", "child", "pupil"):
            return relative_subject(g)
        kin = g.phrases.build(relation, "owned full", owner=g.phrases.owner())
        en, fa = f"{head.en} who {en_inner} is {kin.en}", f"{fa_head} که {inner.fa} {kin.fa} است"
        extra: tuple[str, ...] = kin.lemmas
    elif draw < 0.7:
        adjective = g.rng.choice([a for a in g.phrases.traits if not a.who])
        copula = persian.be_present((3, plural))
        en = f"{head.en} who {en_inner} {english.be(3, plural)} very {adjective.en}"
        fa = f"{fa_head} که {inner.fa} خیلی {adjective.fa} {copula}"
        extra = (adjective.lemma,)
    else:
        knower = g.rng.choice((I, YOU, WE, HE, SHE, THEY))
        know = persian.Conjugator("شناخت", "شناس")
        parts = ("know", "knew", "known", "knowing")
        en = spaced(
            knower.en,
            *english.verb_group(parts, "present", knower.person, knower.plural, False),
            head.en,
            "who",
            en_inner,
        )
        subject_fa = "" if knower.droppable else knower.fa
        fa = spaced(subject_fa, f"{fa_head} را که {inner.fa} {know.simple_present(knower.agreement)}")
        extra = ("know",)
    return finish("relative subject", en, fa, [inner], extra=extra)


def purpose(g: Grammar) -> Sentence:
    """I went to the market to buy fruit."""
    goers = {"go": "go", "come": "come"}
    subject = g.phrases.subject()

    def usable(verb: Verb, frame: Frame) -> bool:
        return (
            bool(frame.at)
            and frame.kind != "state"
            and not frame.subject
            and verb.key not in ("cry", "live", "work", "see")
        )

    _, vp, frame = g.action("", ban="want", subject=subject, style_tense="modal", extras=0, suits=usable)
    places = [
        place for place in g.lexicon.tagged(frame.at, places=True) if place.count != "bare" or place.lemma == "home"
    ]
    places = [place for place in places if place.lemma not in ("mountain", "room", "street", "city", "living room")]
    if not places or (vp.fa_oblique and frame.complete is False):
        return purpose(g)
    place = g.rng.choice(places)
    if place.lemma in vp.lemmas or not frame.complete:
        return purpose(g)
    go = g.lexicon.verbs[goers["go"]]
    tense = g.rng.choice(("past", "past", "future"))
    going = VerbPhrase(go, place.to, fa_oblique=f"به {place.fa}", lemmas=(go.key, place.lemma))
    time = g.rng.choice(g.lexicon.times[tense]) if g.chance(0.3) else None
    first = clause(subject, going, tense, setting=Setting(time, True) if time else Setting())
    en, fa = f"{first.en} to {vp.english_base}", f"{first.fa} تا {vp.infinitive(subject.agreement)}"
    second = Clause("", "", vp.lemmas, (*vp.keys, f"{vp.verb.key}|{place.lemma}"))
    return finish("purpose", en, fa, [first, second])


def want_other(g: Grammar) -> Sentence:
    """My mother wants me to study."""
    wanter = g.phrases.subject()
    doer, vp, _ = g.action("", ban="want", style_tense="modal", extras=0)
    if (
        (doer.person == wanter.person and doer.person != 3)
        or doer.en == wanter.en
        or set(doer.lemmas) & set(wanter.lemmas)
    ):
        return want_other(g)
    if doer.fa == wanter.fa:
        return want_other(g)
    want = persian.Conjugator("خواست", "خواه")
    parts = ("want", "wanted", "wanted", "wanting")
    past = g.chance(0.35)
    group = english.verb_group(parts, "past" if past else "present", wanter.person, wanter.plural, False)
    en = spaced(wanter.en, *group, doer.object_en or doer.en, "to", vp.english_base)
    form = want.imperfect(wanter.agreement) if past else want.simple_present(wanter.agreement)
    # The doer is not the subject of the main verb, so Persian must name it here, pronoun or not.
    fa = spaced("" if wanter.droppable else wanter.fa, form, doer.fa, vp.infinitive(doer.agreement))
    done = Clause(en, fa, wanter.lemmas + doer.lemmas + vp.lemmas, doer.keys + vp.keys)
    return finish("want other", en, fa, [done])


# What one does in a row, at home or nearby: "closed the door and turned on the lamp" makes sense in any order.
DAILY = (
    "eat",
    "drink",
    "read",
    "write",
    "cook",
    "make",
    "clean",
    "wash",
    "iron",
    "turn on",
    "turn off",
    "open",
    "close",
    "lock",
    "sleep",
    "rest",
    "call",
    "talk",
    "study",
    "listen",
    "watch",
    "water",
    "feed",
    "shower",
    "chat",
    "go.home",
    "exercise",
    "help",
    "thank",
    "buy",
    "finish",
    "prepare",
    "play",
    "bring",
    "sit",
    "repair",
    "kiss",
    "look for",
    "order",
    "pay",
)


def coordination(g: Grammar) -> Sentence:
    """Ali closed the door and turned on the lamp. My father is a teacher, but my mother is a doctor."""
    if g.chance(0.55):
        subject = named_subject(g)
        _, first_action, _ = g.action("past", subject=subject, extras=0, suits=lambda v, f: v.key in DAILY)
        _, second_action, _ = g.action("past", subject=subject, extras=0, suits=lambda v, f: v.key in DAILY)
        if set(first_action.lemmas) & set(second_action.lemmas):
            return coordination(g)
        first, second = clause(subject, first_action, "past"), clause(subject, second_action, "past", drop=True)
        tail = second.en.removeprefix(subject.en).strip()
        clauses = [first, Clause(tail, second.fa, second_action.lemmas, second_action.keys)]
        return finish("and", f"{first.en} and {tail}", f"{first.fa} و {second.fa}", clauses)
    first_subject, vp, _frame = g.action("past", extras=0, suits=lambda v, f: not f.subject and f.article != "own")
    second_subject = g.phrases.subject()
    if first_subject.fa == second_subject.fa or set(first_subject.lemmas + vp.lemmas) & set(second_subject.lemmas):
        return coordination(g)
    if first_subject.person != 3 and second_subject.person == first_subject.person:
        return coordination(g)
    first = clause(first_subject, vp, "past")
    # The second clause repeats only the negated auxiliary; Persian says the verb again.
    fa_verb = vp.conjugator.simple_past(second_subject.agreement, True)
    # In a contrast the pronoun is said: ولی من نرفتم.
    second_fa = spaced(second_subject.fa, fa_verb)
    en = f"{first.en}, but {second_subject.en} did not"
    subject_clause = Clause("", "", second_subject.lemmas)
    return finish("but not", en, f"{first.fa}، ولی {second_fa}", [first, subject_clause])


def after(g: Grammar) -> Sentence:
    """After we ate dinner, we watched television."""
    subject = named_subject(g)
    before = g.chance(0.4)
    _, first_action, _ = g.action("past", subject=subject, extras=0, suits=lambda v, f: v.key in DAILY)
    _, second_action, _ = g.action("past", subject=subject, extras=0, suits=lambda v, f: v.key in DAILY)
    if set(first_action.lemmas) & set(second_action.lemmas):
        return after(g)
    first, second = clause(subject, first_action, "past"), clause(again(subject), second_action, "past", drop=True)
    if before:
        # Before an event that had not yet happened Persian uses the subjunctive.
        inner = spaced("" if subject.droppable else subject.fa, first_action.infinitive(subject.agreement))
        return finish(
            "before", f"before {first.en}, {second.en}", f"قبل از این‌که {inner}، {second.fa}", [first, second]
        )
    return finish("after", f"after {first.en}, {second.en}", f"بعد از این‌که {first.fa}، {second.fa}", [first, second])


PATTERNS = (
    (relative_object, 4),
    (relative_subject, 4),
    (purpose, 5),
    (want_other, 4),
    (coordination, 5),
    (after, 4),
)
