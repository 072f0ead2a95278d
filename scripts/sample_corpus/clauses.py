"""Verb phrases and clauses in both languages: word order, tense and agreement."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scripts.sample_corpus import english, persian
from scripts.sample_corpus.lexicon import Phrase, Verb
from scripts.sample_corpus.persian import Agreement, Conjugator
from scripts.sample_corpus.phrases import NounPhrase

HAVE = Conjugator("داشت", "دار")
WANT = Conjugator("خواست", "خواه")
CAN = Conjugator("توانست", "توان")
# Verbs that take another verb: English parts, English tense, Persian verb, Persian tense, English link.
MATRIX: dict[str, tuple[tuple[str, str, str, str], str, Conjugator, str]] = {
    "want": (("want", "wanted", "wanted", "wanting"), "present", WANT, "simple_present"),
    "wanted": (("want", "wanted", "wanted", "wanting"), "past", WANT, "imperfect"),
    "tried": (("try", "tried", "tried", "trying"), "past", Conjugator("کرد", "کن", "سعی"), "simple_past"),
    "decided": (
        ("decide", "decided", "decided", "deciding"),
        "past",
        Conjugator("گرفت", "گیر", "تصمیم"),
        "simple_past",
    ),
    "plan": (("plan", "planned", "planned", "planning"), "present", Conjugator("داشت", "دار", "قصد"), "simple_present"),
    "forgot": (
        ("forget", "forgot", "forgotten", "forgetting"),
        "past",
        Conjugator("کرد", "کن", "فراموش"),
        "simple_past",
    ),
    "have to": (("have", "had", "had", "having"), "present", Conjugator("بود", "باش", "مجبور"), "be_present"),
    "had to": (("have", "had", "had", "having"), "past", Conjugator("شد", "شو", "مجبور"), "simple_past"),
    "like to": (("like", "liked", "liked", "liking"), "present", Conjugator("داشت", "دار", "دوست"), "simple_present"),
}
SIMPLE_MODALS = ("can", "must", "should", "may")
PERSIAN_TENSE = {
    "present": "simple_present",
    "past": "simple_past",
    "perfect": "perfect",
    "past perfect": "past_perfect",
    "future": "future",
    "used to": "imperfect",
}


@dataclass(frozen=True)
class VerbPhrase:
    """A verb with its complements, before tense and subject are known."""

    verb: Verb
    en: str = ""  # everything after the verb
    fa_marked: str = ""  # definite object with را, or an object under its own preposition
    fa_oblique: str = ""  # companions, goals, places
    fa_manner: str = ""
    fa_near: str = ""  # indefinite object or fixed complement, next to the verb
    lemmas: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    lasting: bool = False  # a state: its Persian past is the imperfect (می‌دانست, زندگی می‌کرد)

    @property
    def conjugator(self) -> Conjugator:
        """The Persian verb."""
        verb = self.verb
        return Conjugator(verb.fa_past, verb.fa_present, verb.fa_nonverbal, verb.fa_prefix)

    @property
    def parts(self) -> tuple[str, str, str, str]:
        """The English principal parts."""
        return self.verb.en, self.verb.past, self.verb.participle, self.verb.gerund

    @property
    def fa_complements(self) -> str:
        """All that stands before the Persian verb."""
        if self.fa_marked and not self.fa_marked.endswith((" را", "مرا")):
            # وارد بانک شد and به نامه جواب داد are held together; place and manner stand before them.
            return spaced(self.fa_oblique, self.fa_manner, self.fa_marked, self.fa_near)
        return spaced(self.fa_marked, self.fa_oblique, self.fa_manner, self.fa_near)

    def infinitive(self, who: Agreement, negative: bool = False) -> str:
        """The Persian subjunctive phrase that answers to an English infinitive."""
        return spaced(self.fa_complements, self.conjugator.subjunctive(who, negative))

    @property
    def english_base(self) -> str:
        """The English bare infinitive with its complements."""
        return spaced(self.verb.en, self.en)


@dataclass(frozen=True)
class Clause:
    """A finished clause without final punctuation."""

    en: str
    fa: str
    lemmas: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class Setting:
    """When and how often: adverbials of the whole clause."""

    time: Phrase | None = None
    first: bool = False  # the time opens the sentence
    frequency: Phrase | None = None


NO_SETTING = Setting()


def spaced(*parts: str) -> str:
    """The parts that are not empty, with single spaces."""
    return " ".join(part for part in parts if part)


def _persian_group(vp: VerbPhrase, tense: str, who: Agreement, negative: bool) -> tuple[str, str]:
    """What opens the Persian verb phrase (modal or progressive auxiliary), and the finite verb at its end."""
    verb = vp.conjugator
    if tense == "progressive":
        return (
            ("", verb.simple_present(who, True)) if negative else (HAVE.simple_present(who), verb.simple_present(who))
        )
    if tense == "past progressive":
        return ("", verb.imperfect(who, True)) if negative else (HAVE.simple_past(who), verb.imperfect(who))
    if tense == "can":
        return CAN.simple_present(who, negative), verb.subjunctive(who)
    if tense == "could":
        return CAN.simple_past(who, negative), verb.subjunctive(who)
    if tense == "must":
        return "نباید" if negative else "باید", verb.subjunctive(who)
    if tense == "should":
        return "بهتر است", verb.subjunctive(who, negative)
    if tense == "may":
        return "ممکن است", verb.subjunctive(who, negative)
    if tense in MATRIX:
        _, _, matrix, matrix_form = MATRIX[tense]
        if matrix_form == "be_present":
            return f"{matrix.nonverbal} {persian.be_present(who, negative)}", verb.subjunctive(who)
        return getattr(matrix, matrix_form)(who, negative), verb.subjunctive(who)
    form = "imperfect" if vp.lasting and tense == "past" else PERSIAN_TENSE[tense]
    finite: str = getattr(verb, form)(who, negative)
    return "", finite


def clause(
    subject: NounPhrase,
    vp: VerbPhrase,
    tense: str,
    *,
    negative: bool = False,
    question: bool = False,
    setting: Setting = NO_SETTING,
    drop: bool = False,
) -> Clause:
    """One clause; with `question` the English is inverted (the Persian only gets آیا, from the caller).

    The fixed rule for Persian subjects: من، شما، ما are dropped, او and آن‌ها are said; `drop` leaves out any subject.
    """
    group = english.question_group if question else english.verb_group
    tail = vp.en
    if tense in MATRIX:
        parts, en_tense, _, _ = MATRIX[tense]
        auxiliary, no, main = group(parts, en_tense, subject.person, subject.plural, negative)
        tail = spaced("to", vp.english_base)
    elif tense == "could":
        auxiliary, no, main = "could", "not" if negative else "", vp.verb.en
    else:
        auxiliary, no, main = group(vp.parts, tense, subject.person, subject.plural, negative)
    if question:
        words = spaced(auxiliary, subject.en, no, main, tail)
    else:
        often = setting.frequency.en if setting.frequency else ""
        words = spaced(subject.en, auxiliary, no, often, main, tail)
    time, fa_time = (setting.time.en, setting.time.fa) if setting.time else ("", "")
    opening = setting.first and time
    # می‌خواهم فردا بروم: the time belongs to the going, so it follows the wanting.
    late = not opening and (tense in MATRIX or tense == "may")
    lead, finite = _persian_group(vp, tense, subject.agreement, negative)
    fa_subject = "" if drop or subject.droppable else subject.fa
    fa = spaced(
        fa_time if opening else "",
        fa_subject,
        "" if opening or late else fa_time,
        "قبلاً" if tense == "used to" else "",
        setting.frequency.fa if setting.frequency else "",
        lead,
        fa_time if late else "",
        vp.fa_complements,
        finite,
    )
    lemmas = subject.lemmas + vp.lemmas
    if setting.frequency:
        lemmas += (setting.frequency.en,)
    return Clause(f"{time} {words}" if opening else spaced(words, time), fa, lemmas, subject.keys + vp.keys)


def be_clause(
    subject: NounPhrase,
    en_complement: str,
    fa_complement: str,
    tense: str = "present",
    *,
    negative: bool = False,
    question: bool = False,
    drop: bool = False,
    time: Phrase | None = None,
) -> Clause:
    """A clause with "to be"; tense is present, past or subjunctive (English present, for conditions)."""
    past = tense == "past"
    verb = english.be(subject.person, subject.plural, past)
    no = "not" if negative else ""
    words = spaced(verb, subject.en, no) if question else spaced(subject.en, verb, no)
    forms = {"present": persian.be_present, "past": persian.be_past, "subjunctive": persian.be_subjunctive}
    fa = spaced(
        "" if drop or subject.droppable else subject.fa,
        time.fa if time else "",
        fa_complement,
        forms[tense](subject.agreement, negative),
    )
    return Clause(spaced(words, en_complement, time.en if time else ""), fa, subject.lemmas, subject.keys)


def extend(base: Clause, lemmas: tuple[str, ...] = (), keys: tuple[str, ...] = ()) -> Clause:
    """The clause with extra lemmas and word combinations."""
    return replace(base, lemmas=base.lemmas + lemmas, keys=base.keys + keys)
