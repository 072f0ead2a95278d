"""The words of the sample grammar: what the lexicon files say, as frozen records."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Noun:
    """A person, a thing or a place, with everything that decides which sentences it may enter."""

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
