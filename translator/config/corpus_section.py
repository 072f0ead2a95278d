"""The `corpus` section of a recipe: sources, normalization, filters, splits; and test sets."""

from typing import Annotated, ClassVar, Final, Literal, NamedTuple

from pydantic import Field

from translator.config.keys import Count, Effect, Name, PathText, Place, PositiveInt, Rule, Section, Share


class Language(NamedTuple):
    """One of the two languages."""

    code: Literal["en", "fa"]
    name: str
    writing: Literal["ltr", "rtl"]
    example: str


ENGLISH: Final = Language("en", "English", "ltr", "The children are at school.")
PERSIAN: Final = Language("fa", "Persian", "rtl", "بچه‌ها در مدرسه هستند.")
Languages = tuple[Language, Language]
"""The source language and the target language."""
Ratio = Annotated[float, Field(gt=1.0, le=1_000_000)]


class NormalizationConfig(Section, effect=Effect.TEXT):
    """Rules of the normalizer, applied to the corpus and at inference."""

    mojibake: bool = True
    """Repair text that was decoded with the wrong character set, where that is certain: Ø³Ù„Ø§Ù… becomes سلام."""
    presentation_forms: bool = True
    """Replace ligatures and shaped letters by plain letters (Persian side)."""
    arabic_letters: bool = True
    """Replace Arabic yeh and kaf by the Persian letters (Persian side)."""
    teh_marbuta: bool = False
    """Replace ة by ه (Persian side); off, because Persian books also write it on purpose."""
    hamza: bool = True
    """Compose a letter and a combining madda or hamza: ه and its hamza become ۀ (Persian side)."""
    tatweel: bool = True
    """Remove the stretching stroke U+0640 (Persian side)."""
    vowel_marks: Literal["keep", "strip"] = "strip"
    """Short-vowel marks of the Persian side; the tanwin of لطفاً is spelling and always stays."""
    digits: Literal["keep", "persian", "ascii"] = "persian"
    """Digits of the Persian side; digits joined to Latin letters stay as they are."""
    zero_width: bool = True
    """Remove invisible characters except ZWNJ; a soft hyphen of the Persian side becomes a ZWNJ."""
    zwnj: bool = True
    """Keep ZWNJ only between two letters or digits, and only one."""
    spaces: bool = True
    """Replace every kind of white space by one plain space, and remove it at the ends."""
    quotes: bool = True
    """Write quotation marks straight on the English side, and as « » around Persian words."""
    dashes: bool = True
    """Reduce dashes to one hyphen and one long dash; -- becomes the long one."""
    punctuation_spacing: bool = True
    """Rejoin tokenized text: no space before closing or after opening punctuation, no escapes such as &quot;."""
    contractions: bool = True
    """Join English endings that a tokenizer split off: it 's becomes it's (English side)."""
    orthography: bool = False
    """Join separated affixes by ZWNJ (می روم, کتاب ها, بزرگ تر) and separate joined auxiliary verbs (Persian side)."""


class FilterConfig(Section, effect=Effect.TEXT):
    """Limits beyond which pairs are dropped, on normalized text; `null` and `false` switch a filter off."""

    replacement_character: bool = True
    """Drop a pair with U+FFFD, which marks a lost character."""
    max_words: PositiveInt | None = 100
    """Longest side, in words."""
    max_characters: PositiveInt | None = 1000
    """Longest side, in characters."""
    max_length_ratio: Ratio | None = 4.0
    """Longer side over shorter side in characters, if the longer has 20 or more."""
    max_word_ratio: Ratio | None = 4.0
    """Longer side over shorter side in words, if the longer has 12 or more."""
    min_source_script: Share | None = 0.5
    """Smallest share of Latin letters among the letters of the English side."""
    min_target_script: Share | None = 0.5
    """Smallest share of Arabic-script letters on the Persian side; words that stand on both sides do not count."""
    max_arabic: Share | None = 0.5
    """Largest share of Arabic among the words of the Persian side that are clearly Arabic or clearly Persian."""
    max_untranslated: Share | None = 0.8
    """Largest share of words of one side that stand unchanged on the other, if 4 or more do."""
    min_number_agreement: Share | None = 0.5
    """Smallest share of numbers that both sides have in common, if both have some, words and calendars understood."""
    max_markup: Share | None = 0.5
    """Largest share of characters of a side in web addresses, tags, entities, LaTeX and code."""
    max_repetition: Share | None = 0.5
    """Largest share of words of a side that repeat the words just before; half of it where one side does."""
    duplicates: bool = True
    """Drop a pair that was seen before, compared without case, punctuation and ZWNJ."""
    near_duplicates: Share | None = 0.9
    """Drop a pair that shares so many character 5-grams with an earlier one (Jaccard), if it has 60 or more."""
    max_same_source: PositiveInt | None = 10
    """Largest number of pairs with one English side."""
    max_same_target: PositiveInt | None = 10
    """Largest number of pairs with one Persian side."""


class TestSetConfig(Section, effect=Effect.TEXT):
    """A further test set: a zip, a two-column TSV, a TMX, a folder of these, or two files."""

    __test__: ClassVar[bool] = False  # no test of pytest's
    rules = (
        Rule(
            "give either `path` or both `source_path` and `target_path`",
            lambda c: (c.path is None) == (c.source_path is not None) == (c.target_path is not None),
        ),
        Rule(
            "`source_member` and `target_member` go together, and name members of a zip given as `path`",
            lambda c: (c.source_member is None) == (c.target_member is None) and bool(c.path or not c.source_member),
        ),
    )

    name: Name
    """Short name, used for file names, test sets and reports."""
    path: Annotated[Place | None, Effect.HARMLESS] = None
    """A zip archive, a two-column TSV (English, tab, Persian), a TMX, or a folder of these and of pairs of files."""
    source_path: Annotated[Place | None, Effect.HARMLESS] = None
    """English file, with `target_path`, instead of `path`."""
    target_path: Annotated[Place | None, Effect.HARMLESS] = None
    """Persian file."""
    source_member: PathText | None = None
    """Name of the English member of a zip; detected when left out."""
    target_member: PathText | None = None
    """Name of the Persian member of a zip; detected when left out."""


class SourceConfig(TestSetConfig):
    """One parallel corpus, read in place: a zip, a two-column TSV, a TMX, a folder of these, or two files."""

    max_pairs: PositiveInt | None = None
    """Read only the first N pairs."""
    use: Literal["auto", "train", "validation", "test"] = "auto"
    """`auto` divides this source as `corpus.split` says; otherwise all of it belongs to the named split."""
    weight: Annotated[float, Field(gt=0, le=1_000_000), Effect.BATCHES] = 1.0
    """How often a training pair of this source is drawn, relative to weight 1 (see `batching.temperature`)."""
    invalid_utf8: Literal["error", "drop"] = "error"
    """A line that is not UTF-8: stop and name it, or drop its pair and count it."""
    obtain: Annotated[str | None, Effect.HARMLESS] = None
    """Message when the file is missing: where to get it and where to put it."""


class SplitConfig(Section, effect=Effect.TEXT):
    """How each source with `use: auto` is divided; no side of a pair stands in two splits."""

    method: Literal["block", "hash"] = "block"
    """`block`: hold out runs of neighbouring lines; `hash`: single pairs, by a seeded hash of the source side."""
    validation: Count | Literal["auto"] = "auto"
    """Pairs of each source held out for validation; `auto`: 2%, at most 1,000."""
    test: Count | Literal["auto"] = "auto"
    """Pairs of each source held out for testing; `auto`: 2%, at most 1,000."""
    block_size: PositiveInt | None = None
    """Pairs in a block; blocks are drawn by seed until a split is full. `null`: one run at the end of the source."""
    seed: Annotated[int, Field(ge=0, le=2**63)] = 1
    """Seed of the split, separate from `run.seed` so that runs share their test set."""


def _names_taken(corpus: "CorpusConfig") -> list[str]:
    found = []
    for number, source in enumerate(corpus.sources):
        uses = [other.use for other in corpus.sources[:number] if other.name == source.name]
        if uses and ("auto" in (*uses, source.use) or source.use in uses):
            found.append(f"sources.{number}.name")
    return found


class CorpusConfig(Section, effect=Effect.TEXT):
    """From raw text to clean, divided text."""

    rules = (
        Rule(
            "`name` is that of an earlier source; sources share one only if each has a `use` of its own", _names_taken
        ),
    )

    sources: Annotated[tuple[SourceConfig, ...], Field(min_length=1, strict=False)]
    """The parallel corpora."""
    direction: Literal["en-fa", "fa-en"] = "en-fa"
    """What is translated into what; corpora and test sets are read as English and Persian either way."""
    normalization: NormalizationConfig = NormalizationConfig()
    filters: FilterConfig = FilterConfig()
    split: SplitConfig = SplitConfig()
    prepared_directory: Annotated[Place, Effect.HARMLESS] = "data/prepared"
    """Folder for prepared data, which are kept under a fingerprint of everything that made them."""
    workers: Annotated[int, Field(ge=0, le=256), Effect.HARMLESS] = 0
    """Processes that prepare the corpus; 0: one per core for a large corpus. Does not affect the result."""

    @property
    def languages(self) -> Languages:
        """The source language and the target language."""
        return (ENGLISH, PERSIAN) if self.direction == "en-fa" else (PERSIAN, ENGLISH)
