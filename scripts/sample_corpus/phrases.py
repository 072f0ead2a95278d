"""Noun phrases in both languages at once: the English words, the Persian words and how each agrees."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from scripts.sample_corpus import english, persian
from scripts.sample_corpus.lexicon import Adjective, Lexicon, Noun
from scripts.sample_corpus.persian import Agreement


@dataclass(frozen=True)
class NounPhrase:
    """A noun phrase; `lemmas` are the content words in it, `keys` the word combinations that a split may hold out."""

    en: str
    fa: str
    person: int = 3
    plural: bool = False  # how the English verb agrees
    fa_plural: bool = False  # how the Persian verb agrees: trousers are singular
    definite: bool = True  # a definite object takes را
    droppable: bool = False  # a Persian subject pronoun that the verb ending makes needless
    gender: str = ""
    noun: Noun | None = None
    lemmas: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    object_en: str = ""  # pronouns only: him, her
    object_fa: str = ""

    @property
    def agreement(self) -> Agreement:
        """Person and number for Persian endings; "you" is always polite, so plural."""
        return self.person, self.fa_plural


@dataclass(frozen=True)
class Owner:
    """Who possesses something: "my" and ـم."""

    en: str
    agreement: Agreement
    name: NounPhrase | None = None  # "Ali's": Persian uses an ezafe in place of the ending


def _pronoun(en: str, fa: str, person: int, plural: bool, gender: str, object_en: str, object_fa: str) -> NounPhrase:
    return NounPhrase(
        en, fa, person, plural, plural, droppable=person != 3, gender=gender, object_en=object_en, object_fa=object_fa
    )


I = _pronoun("I", "من", 1, False, "", "me", "مرا")  # noqa: E741 - the English word
YOU = _pronoun("you", "شما", 2, True, "", "you", "شما را")
HE = _pronoun("he", "او", 3, False, "m", "him", "او را")
SHE = _pronoun("she", "او", 3, False, "f", "her", "او را")
WE = _pronoun("we", "ما", 1, True, "", "us", "ما را")
THEY = _pronoun("they", "آن‌ها", 3, True, "", "them", "آن‌ها را")
PRONOUNS = (I, YOU, HE, SHE, WE, THEY)

MY = Owner("my", (1, False))
YOUR = Owner("your", (2, True))
OUR = Owner("our", (1, True))
THEIR = Owner("their", (3, True))
HIS = Owner("his", (3, False))
HER = Owner("her", (3, False))
FULL_PRONOUNS = {"my": "من", "your": "شما", "our": "ما", "his": "او", "her": "او", "their": "آن‌ها"}

# What may sensibly be called mine.
POSSESSABLE = ("owned", "washable", "wear", "pet", "startable", "doable", "know", "explain", "send", "print", "device")
PLACE_TAGS = frozenset({"town", "room", "outdoor", "shop"})
NUMBER_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def owner_of(subject: NounPhrase) -> Owner | None:
    """The possessive that refers back to a subject, or None where English would have to guess between his and her."""
    if subject.person == 1:
        return OUR if subject.plural else MY
    if subject.person == 2:
        return YOUR
    if subject.fa_plural:
        return THEIR
    return {"m": HIS, "f": HER}.get(subject.gender)


def reference(subject: NounPhrase) -> NounPhrase | None:
    """The pronoun for a subject that was named before."""
    if subject.person != 3:
        return subject
    if subject.fa_plural:
        return THEY
    return {"m": HE, "f": SHE}.get(subject.gender)


class Phrases:
    """Builds random noun phrases from a lexicon with one random stream."""

    def __init__(self, lexicon: Lexicon, rng: random.Random) -> None:
        self.lexicon = lexicon
        self.rng = rng
        nouns = list(lexicon.nouns.values())
        self.names = [noun for noun in nouns if noun.kind == "name"]
        self.family = [noun for noun in nouns if noun.kind == "family"]
        self.people = [noun for noun in nouns if noun.kind in ("human", "worker")]
        self.traits = [adjective for adjective in lexicon.adjectives.values() if adjective.kind == "trait"]
        self.describing = {noun.lemma: self._adjectives_for(noun) for noun in nouns}

    def _adjectives_for(self, noun: Noun) -> list[Adjective]:
        chosen = []
        for adjective in self.lexicon.adjectives.values():
            names = adjective.who if noun.is_person else adjective.of
            # Other tags of places say what one does there: a library, where one reads, is not a boring book.
            tags = noun.tags & PLACE_TAGS if noun.kind == "place" else noun.tags
            if (adjective.kind == "trait" and noun.kind in ("human", "worker") and not names) or (
                any(name in tags or name == noun.lemma for name in names) and adjective.kind != "weather"
            ):
                chosen.append(adjective)
        return chosen

    def chance(self, probability: float) -> bool:
        """A biased coin."""
        return self.rng.random() < probability

    def adjective(self, noun: Noun) -> Adjective | None:
        """An adjective that may stand before the noun."""
        fitting = [a for a in self.describing[noun.lemma] if not a.predicate_only]
        return self.rng.choice(fitting) if fitting else None

    def build(
        self, noun: Noun, style: str, adjective: Adjective | None = None, owner: Owner | None = None
    ) -> NounPhrase:
        """One noun phrase. Styles: bare, the, a, this, owned, plural, these, bare plural, some,
        many, a number word, "owned plural", and "owned full" for an owner that Persian says as a separate word.
        """
        number = NUMBER_WORDS.index(style) + 1 if style in NUMBER_WORDS else 0
        pair = noun.count == "pair"
        if pair and style == "these":
            style = "this"
        is_plural = style in ("plural", "these", "bare plural", "many", "owned plural") or number > 1
        en = noun.plural if is_plural or pair else noun.lemma
        # After a number, and for an indefinite kind ("apples"), the Persian noun stays singular.
        fa = noun.fa_plural if is_plural and not number and style != "bare plural" and not pair else noun.fa
        keys: tuple[str, ...] = ()
        lemmas: tuple[str, ...] = (noun.lemma,)
        if adjective:
            en, fa = f"{adjective.en} {en}", f"{persian.ezafe(fa)} {adjective.fa}"
            keys, lemmas = (f"{adjective.lemma}|{noun.lemma}",), (noun.lemma, adjective.lemma)
        definite = style in ("the", "this", "owned", "plural", "these", "owned plural")
        if style in ("the", "plural"):
            en = f"the {en}"
        elif style == "a":
            en, fa = f"{english.article(en)} {en}", f"یک {fa}"
        elif style == "this":
            en, fa = f"{'these' if pair else 'this'} {en}", f"این {fa}"
        elif style == "these":
            en, fa = f"these {en}", f"این {fa}"
        elif style == "some":
            en, fa = f"some {en}", f"کمی {fa}"
        elif style == "many":
            en, fa = f"many {en}", f"{persian.ezafe(fa)} زیادی"
        elif number:
            en, fa = f"{style} {en}", f"{self.lexicon.numbers[number - 1]} {fa}"
        elif style.startswith("owned"):
            assert owner is not None
            en = f"{owner.en} {en}"
            if owner.name or "full" in style:
                # Where the owner is what the sentence says (این کتاب من است), the ending would be too weak.
                fa = f"{persian.ezafe(fa)} {owner.name.fa if owner.name else FULL_PRONOUNS[owner.en]}"
            else:
                fa = persian.possess(fa, owner.agreement)
            lemmas += owner.name.lemmas if owner.name else ()
        return NounPhrase(
            en,
            fa,
            plural=is_plural or pair,
            fa_plural=is_plural and not pair,
            definite=definite or (noun.kind in ("name", "place") and style == "bare"),
            gender=noun.gender if not is_plural else "",
            noun=noun,
            lemmas=lemmas,
            keys=keys,
        )

    def name(self) -> NounPhrase:
        """A first name."""
        return self.build(self.rng.choice(self.names), "bare")

    def owner(self, subject: NounPhrase | None = None, for_thing: bool = True) -> Owner:
        """A possessor, usually the subject itself."""
        own_owner = owner_of(subject) if subject else None
        if own_owner and self.chance(0.75):
            return own_owner
        if for_thing and self.chance(0.3):
            name = self.name()
            if subject is None or name.en != subject.en:
                return Owner(f"{name.en}'s", (3, False), name)
        # Third-person owners other than the subject would be ambiguous here.
        choices = [MY, MY, MY, YOUR, YOUR, OUR]
        if subject is None:
            choices += [HIS, HER, THEIR]
        return self.rng.choice(choices)

    def person(self, noun: Noun, subject: NounPhrase | None = None) -> NounPhrase:
        """A definite phrase for a person."""
        if noun.kind == "name":
            return self.build(noun, "bare")
        if noun.kind == "family":
            owner = self.owner(subject)
            if noun.lemma == "wife":
                owner = MY
            style = "owned plural" if noun.many and self.chance(0.2) else "owned"
            return self.build(noun, style, owner=owner)
        adjective = self.adjective(noun) if self.chance(0.1) else None
        style = self.rng.choices(("the", "plural", "this", "these"), (6, 3, 1.5, 0.5))[0]
        return self.build(noun, style, adjective)

    def subject(self, nouns: Sequence[str] = ()) -> NounPhrase:
        """A subject: anyone, or one of the named nouns."""
        if nouns:
            if "pronoun" in nouns and self.chance(0.5):
                return self.rng.choice(PRONOUNS)
            noun = self.rng.choice(self.lexicon.tagged(tuple(name for name in nouns if name != "pronoun")))
            if noun.is_person:
                return self.person(noun)
            return self.build(noun, self.rng.choice(("the", "the", "plural")))
        draw = self.rng.random()
        if draw < 0.55:
            return self.rng.choice(PRONOUNS)
        if draw < 0.73:
            return self.name()
        if draw < 0.76:
            first, second = self.rng.sample(self.names, 2)
            return NounPhrase(
                f"{first.lemma} and {second.lemma}",
                f"{first.fa} و {second.fa}",
                plural=True,
                fa_plural=True,
                lemmas=(first.lemma, second.lemma),
            )
        return self.person(self.rng.choice(self.family if draw < 0.88 else self.people))

    def anyone(self, subject: NounPhrase) -> NounPhrase:
        """Another person than the subject, for objects and complements."""
        for _ in range(20):
            draw = self.rng.random()
            if draw < 0.25:
                candidate = self.rng.choice(PRONOUNS)
                # "We saw me" and an unclear "he saw him" are both to be avoided.
                if candidate.person == subject.person and (
                    candidate.person != 3 or not (candidate.plural and not subject.plural)
                ):
                    continue
                return candidate
            if draw < 0.45:
                candidate = self.name()
            elif draw < 0.75:
                candidate = self.person(self.rng.choice(self.family), subject)
            else:
                candidate = self.person(self.rng.choice(self.people))
            if not set(candidate.lemmas) & set(subject.lemmas):
                return candidate
        return self.build(self.lexicon.nouns["child"], "the")
