"""The words of the sample grammar: the lexicon files (data/sample/lexicon/*.yaml) as frozen records."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from scripts.sample_corpus import english, persian

FILES = ("nouns", "people", "names", "places", "spots", "times", "adjectives", "verbs")


@dataclass(frozen=True)
class Noun:
    """A person, a thing or a place, with all properties that determine its possible sentences."""

    lemma: str
    fa: str
    plural: str
    fa_plural: str
    kind: str  # thing | family | human | worker | name | place
    tags: frozenset[str]  # membership only; never iterated, so its order cannot reach the output
    count: str = "count"  # count | mass | bare | pair | unique
    gender: str = ""  # m | f | "" where English would have to guess
    many: bool = True  # one may have several (brothers, but not fathers)
    at: str = ""  # places: "in the park"
    to: str = ""  # places: "to the park"
    source: str = ""  # places: "from the park"

    @property
    def is_person(self) -> bool:
        """Whether it can think, talk and be talked to."""
        return self.kind in ("family", "human", "worker", "name")


@dataclass(frozen=True)
class Adjective:
    """An adjective and the nouns that it describes sensibly."""

    lemma: str  # unique; "tall.person" and "tall" are two entries with one English word
    fa: str
    kind: str  # quality | color | trait | state | weather
    of: tuple[str, ...] = ()
    who: tuple[str, ...] = ()
    comparative: str = ""  # "" where it is not compared
    superlative: str = ""
    fa_comparative: str = ""
    predicate_only: bool = False

    @property
    def en(self) -> str:
        """The English word itself."""
        return self.lemma.split(".")[0]


@dataclass(frozen=True)
class Frame:
    """One way to use a verb: which object, place, companion and mood give a sentence that makes sense."""

    subject: tuple[str, ...] = ()  # empty: any person
    objects: tuple[str, ...] = ()
    marker: str = ""  # Persian preposition in place of را
    english_preposition: str = ""  # "look at", "listen to"
    preposition: tuple[str, str, str] | None = None  # English, Persian, what it governs
    fixed: tuple[str, str, str] | None = None  # an unchanging complement: English, Persian, its lemma
    at: tuple[str, ...] = ()
    to: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    reach: tuple[str, ...] = ()
    spots: tuple[str, ...] = ()  # nouns of the spots where it may end ("any" for all)
    how: tuple[str, ...] = ()
    because: tuple[str, ...] = ()
    bans: frozenset[str] = frozenset()
    kind: str = "act"  # act | event | state | long
    beneficiary: bool = False
    companion: bool = False
    vehicle: bool = False
    complete: bool = True  # False: says too little without its place
    article: str = ""  # own | definite | indefinite | generic | "" (free)
    unmarked: bool = False  # Persian says the object bare although English has "the": پیانو نواختن


@dataclass(frozen=True)
class Verb:
    """A verb in both languages."""

    key: str
    en: str
    past: str
    participle: str
    gerund: str
    particle: str
    fa_past: str
    fa_present: str
    fa_nonverbal: str
    fa_prefix: str
    passive: bool
    far: bool  # may be dated by the year
    frames: tuple[Frame, ...]


@dataclass(frozen=True)
class Spot:
    """Where a small thing may lie."""

    en: str
    fa: str
    noun: str


@dataclass(frozen=True)
class Phrase:
    """An adverbial that is the same in every sentence."""

    en: str
    fa: str


@dataclass
class Lexicon:
    """Every word of the grammar, in file order."""

    nouns: dict[str, Noun] = field(default_factory=dict)
    adjectives: dict[str, Adjective] = field(default_factory=dict)
    verbs: dict[str, Verb] = field(default_factory=dict)
    spots: list[Spot] = field(default_factory=list)
    times: dict[str, list[Phrase]] = field(default_factory=dict)
    manners: dict[str, Phrase] = field(default_factory=dict)
    numbers: list[str] = field(default_factory=list)
    tens: dict[str, str] = field(default_factory=dict)

    def tagged(self, names: tuple[str, ...], places: bool = False) -> list[Noun]:
        """The nouns that any of the names selects; a name is a tag or a lemma, and a tag wins."""
        noun_of_lemma: dict[str, Noun] = {}
        for name in names:
            pool = [noun for noun in self.nouns.values() if (noun.kind == "place") == places]
            hits = [noun for noun in pool if name in noun.tags]
            if not hits and name in self.nouns:
                hits = [self.nouns[name]]
            if not hits and not places:
                hits = [noun for noun in self.nouns.values() if name in noun.tags]
            noun_of_lemma.update({noun.lemma: noun for noun in hits})
        return list(noun_of_lemma.values())

    def lemmas(self) -> int:
        """The number of content words."""
        return len(self.nouns) + len(self.adjectives) + len(self.verbs)


def load_lexicon(folder: Path) -> Lexicon:
    """Read the YAML files of a lexicon folder."""
    raw = {name: yaml.safe_load((folder / f"{name}.yaml").read_text(encoding="utf-8")) for name in FILES}
    lexicon = Lexicon()
    for lemma, entry in raw["nouns"].items():
        _add_noun(lexicon, lemma, entry, "thing")
    for lemma, entry in raw["people"].items():
        _add_noun(lexicon, lemma, entry, entry["kind"])
    for gender, names in raw["names"].items():
        for lemma, fa in names.items():
            _add_noun(lexicon, lemma, {"fa": fa, "gender": gender, "count": "bare"}, "name")
    for lemma, entry in raw["places"].items():
        _add_noun(lexicon, lemma, entry, "place")
    for entry in raw["spots"]:
        lexicon.spots.append(Spot(*(entry[key] for key in ("en", "fa", "noun"))))
    for name, phrases in raw["times"].items():
        if name == "numbers":
            lexicon.numbers = list(phrases)
        elif name == "tens":
            lexicon.tens = dict(phrases)
        elif name == "manner":
            lexicon.manners = {en: Phrase(en, fa) for en, fa in phrases.items()}
        else:
            lexicon.times[name] = [Phrase(en, fa) for en, fa in phrases.items()]
    for lemma, entry in raw["adjectives"].items():
        lexicon.adjectives[lemma] = _adjective(lemma, entry)
    for key, entry in raw["verbs"].items():
        lexicon.verbs[key] = _verb(key, entry)
    return lexicon


def _words(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    return tuple(value.split()) if isinstance(value, str) else tuple(value)


def _add_noun(lexicon: Lexicon, lemma: str, entry: Any, kind: str) -> None:
    fa = entry["fa"]
    tags = set(_words(entry.get("tags")))
    if kind in ("family", "human", "worker", "name"):
        tags |= {"person", kind}
    # Nouns without a definite article are "home", "school" and the proper names.
    the = "" if entry.get("article") == "none" else "the "
    here = entry.get("in", "in")
    lexicon.nouns[lemma] = Noun(
        lemma=lemma,
        fa=fa,
        plural=lemma if entry.get("count") == "pair" else entry.get("plural") or english.pluralize(lemma),
        fa_plural=entry.get("fa_plural") or persian.pluralize(fa),
        kind=kind,
        tags=frozenset(tags),
        count=entry.get("count", "bare" if entry.get("article") == "none" else "count"),
        gender=entry.get("gender", ""),
        many=kind != "family" or bool(entry.get("many")),
        at=f"{here} {the}{lemma}" if kind == "place" else "",
        to=entry.get("to") or f"to {the}{lemma}",
        source=f"from {the}{lemma}",
    )


def _adjective(lemma: str, entry: Any) -> Adjective:
    fa, kind = entry["fa"], entry["kind"]
    en, er = lemma.split(".")[0], entry.get("er", "")
    fa_er = entry.get("fa_er") or persian.comparative(fa)
    return Adjective(
        lemma=lemma,
        fa=fa,
        kind=kind,
        of=_words(entry.get("of")),
        who=_words(entry.get("who")),
        comparative=f"more {en}" if er == "more" else er,
        superlative=f"most {en}" if er == "more" else entry.get("est") or (er[:-1] + "st" if er else ""),
        fa_comparative=fa_er if er else "",
        predicate_only=bool(entry.get("predicate")),
    )


def _verb(key: str, entry: Any) -> Verb:
    parts = _words(entry["en"])
    stems = entry["fa"]
    base = parts[0]
    past = parts[1] if len(parts) > 1 else english.regular_past(base)
    return Verb(
        key=key,
        en=base,
        past=past,
        participle=parts[2] if len(parts) > 2 else past,
        gerund=parts[3] if len(parts) > 3 else english.regular_gerund(base),
        particle=entry.get("particle", ""),
        fa_past=stems[0],
        fa_present=stems[1],
        fa_nonverbal=entry.get("nv", ""),
        fa_prefix=entry.get("pre", ""),
        passive=bool(entry.get("passive")),
        far=bool(entry.get("far")),
        frames=tuple(_frame(frame) for frame in entry["frames"]),
    )


def _frame(entry: dict[str, Any]) -> Frame:
    articles = [name for name in ("own", "definite", "indefinite", "generic") if entry.get(name)]
    preposition, fixed = entry.get("prep"), entry.get("fixed")
    return Frame(
        subject=_words(entry.get("subj")),
        objects=_words(entry.get("obj")),
        marker=entry.get("marker", ""),
        english_preposition=entry.get("enprep", ""),
        preposition=(preposition[0], preposition[1], preposition[2]) if preposition else None,
        fixed=(fixed[0], fixed[1], fixed[2]) if fixed else None,
        at=_words(entry.get("at")),
        to=_words(entry.get("to")),
        source=_words(entry.get("from")),
        reach=_words(entry.get("reach")),
        spots=("any",) if entry.get("into") else _words(entry.get("intospot")),
        how=_words(entry.get("how")),
        because=_words(entry.get("because")),
        bans=frozenset(_words(entry.get("bans"))),
        kind=entry.get("kind", "act"),
        beneficiary=bool(entry.get("for")),
        companion=bool(entry.get("with")),
        vehicle=bool(entry.get("by")),
        complete=not entry.get("need"),
        article=articles[0] if articles else "",
        unmarked=bool(entry.get("unmarked")),
    )
