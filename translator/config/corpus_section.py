"""The `corpus` section of a recipe: sources, normalization, filters and splits; also the keys of a test set."""

from typing import Annotated, ClassVar, Final, Literal, NamedTuple

from pydantic import Field

from translator.config.keys import (
    Count,
    Effect,
    MemberPath,
    Name,
    Place,
    PositiveInt,
    Section,
    Share,
    rule,
)


class Language(NamedTuple):
    """One of the two languages."""

    code: Literal["en", "fa"]
    name: str
    writing: Literal["ltr", "rtl"]
    script: str  # the first word of the Unicode names of its letters
    example: str


ENGLISH: Final = Language("en", "English", "ltr", "LATIN", "The children are at school.")
PERSIAN: Final = Language("fa", "Persian", "rtl", "ARABIC", "بچه‌ها در مدرسه هستند.")
Languages = tuple[Language, Language]
"""The source language and the target language."""
Ratio = Annotated[float, Field(gt=1.0, le=1_000_000)]


class NormalizationConfig(Section, effect=Effect.REFUSED):
    """Rules of the normalizer, applied to the corpus and at inference."""

    rules: Literal["standard", "none"] = "standard"
    """The rules for letters, half-spaces, marks and spaces, on both sides (docs/persian.md lists them), or `none`."""
    mojibake: bool = True
    """Repair text decoded with the wrong character set, if the repair is certain: Ø³Ù„Ø§Ù… becomes سلام."""
    digits: Literal["keep", "persian", "ascii"] = "persian"
    """Persian side: `persian` digits, except those joined to Latin letters; `ascii` for all; `keep`: no change."""
    orthography: bool = False
    """Persian side: join affixes by ZWNJ (می روم, کتاب ها, بزرگ تر), and use a space before auxiliary verbs."""


class FilterConfig(Section, effect=Effect.REFUSED):
    """Filters that drop a pair of normalized texts; `null` or `false` disables a filter.

    Test sets, and sources with `use: validation` or `use: test`, are not filtered.
    """

    no_words: bool = True
    """Drop a pair with a side without letters, such as `12:30` or `* * *`; translation copies such text."""
    max_words: PositiveInt | None = 100
    """Largest number of words on either side."""
    max_length_ratio: Ratio | None = 4.0
    """Largest ratio of the longer to the shorter side in characters, if the longer has 20 or more."""
    min_target_script: Share | None = 0.5
    """Smallest share of Arabic-script letters in the Persian; copied words do not count if it has 2+ Persian words."""
    max_untranslated: Share | None = 0.8
    """Largest share of a side's words that the other side has unchanged; up to 3 distinct words always pass."""
    duplicates: bool = True
    """Drop a repeated pair; case, punctuation and ZWNJ are ignored in the comparison."""
    near_duplicates: Share | None = 0.9
    """Drop the later of pairs this similar (Jaccard, 60+ character 5-grams); those below 0.8 are often missed."""


ColumnNumber = Annotated[int, Field(ge=1, le=10_000)]
ColumnName = Annotated[str, Field(min_length=1, max_length=1000)]


class MinScoreConfig(Section, effect=Effect.REFUSED):
    """The least score of a pair, for a table with scores."""

    column: ColumnName | ColumnNumber
    """Name of the column with the scores, or its number from 1 in a TSV or CSV."""
    at_least: float
    """Pairs with a smaller score are dropped and counted as `low_score`, for example 1.05 for LASER margins."""


class TestSetConfig(Section, effect=Effect.REFUSED):
    """An additional test set: a zip, TSV, CSV, JSON Lines, Parquet, TMX, a folder of these, or two text files."""

    __test__: ClassVar[bool] = False  # keeps pytest from collecting it
    name: Name
    """Short name, used in file names, test sets and reports."""
    path: Annotated[Place | None, Effect.FREE] = None
    """A zip, TSV, CSV, JSON Lines, Parquet or TMX, or a folder of these and of pairs X.en, X.fa."""
    source_path: Annotated[Place | None, Effect.FREE] = None
    """English text file, also for `fa-en`, one sentence per line; with `target_path`, instead of `path`."""
    target_path: Annotated[Place | None, Effect.FREE] = None
    """Persian text file, also for `fa-en`, aligned line by line with `source_path`."""
    source_member: MemberPath | None = None
    """Name of the English file in the zip; set both members, or neither (`null`: detect them)."""
    target_member: MemberPath | None = None
    """Name of the Persian file in the zip; set both members, or neither (`null`: detect them)."""
    source_column: ColumnName | ColumnNumber | None = None
    """English column of a table: a name such as `translation.en`, or a number from 1; `null`: the usual names."""
    target_column: ColumnName | ColumnNumber | None = None
    """Persian column of a table, given together with `source_column`."""
    min_score: MinScoreConfig | None = None
    """Drop the pairs of a table whose score is smaller, as `{column: 3, at_least: 1.05}`; `null`: keep all."""

    @rule("give either `path` or both `source_path` and `target_path`")
    def _has_one_path_or_two_sides(self) -> bool:
        """Return whether the corpus is one path, or one file per side."""
        if self.path is None:
            return self.source_path is not None and self.target_path is not None
        return self.source_path is None and self.target_path is None

    @rule("`source_member` and `target_member` must be given together, and need a zip as `path`")
    def _has_both_members_of_a_zip_or_none(self) -> bool:
        """Return whether the files in the zip are named for both sides, or detected on both."""
        if self.source_member is None or self.target_member is None:
            return self.source_member is self.target_member
        return self.path is not None

    @rule("`source_column` and `target_column` must be given together")
    def _has_both_columns_or_none(self) -> bool:
        """Return whether the columns of the texts are named for both sides, or detected on both."""
        return (self.source_column is None) == (self.target_column is None)

    @rule("`source_column` and `target_column` must be different columns")
    def _has_two_different_columns(self) -> bool:
        """Return whether the columns of the texts, if they are named, are two."""
        return self.source_column is None or self.source_column != self.target_column

    @rule("`source_column`, `target_column` and `min_score` need a table as `path`")
    def _has_a_path_for_its_columns(self) -> bool:
        """Return whether columns, if any are named, can be those of one file."""
        columns = (self.source_column, self.target_column, self.min_score)
        return self.path is not None or all(column is None for column in columns)


class SourceConfig(TestSetConfig):
    """One corpus, read in place: a zip, TSV, CSV, JSON Lines, Parquet, TMX, a folder of these, or two text files."""

    max_pairs: PositiveInt | None = None
    """Read only the first N pairs, counted before filtering; `null`: all."""
    use: Literal["auto", "train", "validation", "test"] = "auto"
    """Split that receives the whole source; `auto`: divide the source according to `corpus.split`."""
    weight: Annotated[float, Field(gt=0, le=1_000_000), Effect.RESULT] = 1.0
    """Sampling weight of each training pair, relative to sources of weight 1 (see `batching.temperature`)."""
    tag: bool = False
    """Begin 70% of the training sentences in the source language with a tag that names the source (docs/corpora.md)."""
    invalid_utf8: Literal["error", "drop"] = "error"
    """What to do with a line that is not UTF-8: `error` stops and names it, `drop` drops and counts its pair."""
    licence: Annotated[str | None, Effect.FREE] = None
    """Licence of the corpus, such as `CC-BY-4.0`; stands in the model card, and `export` warns where it is missing."""
    obtain: Annotated[str | None, Effect.FREE] = None
    """Where to get the file and where to put it; shown if it is missing, and in the model card of an export."""


class SplitConfig(Section, effect=Effect.REFUSED):
    """How to divide each source with `use: auto`; no source or target text occurs in two splits."""

    method: Literal["block", "hash"] = "block"
    """`block`: hold out blocks of consecutive lines; `hash`: hold out single pairs by a hash of the English."""
    validation: Count | Literal["auto"] = "auto"
    """Pairs to hold out of each source for validation; `auto`: 2%, at most 1,000; 0: `best` is the last checkpoint."""
    test: Count | Literal["auto"] = "auto"
    """Pairs to hold out of each source for testing; `auto`: 2%, at most 1,000."""
    block_size: PositiveInt | None = None
    """Pairs in a block; randomly drawn blocks fill each split. `null`: one block at the end of the corpus."""


class CorpusConfig(Section, effect=Effect.REFUSED):
    """The corpora, and how they are cleaned and split."""

    sources: Annotated[tuple[SourceConfig, ...], Field(min_length=1, strict=False)]
    """The parallel corpora."""
    direction: Literal["en-fa", "fa-en"] = "en-fa"
    """Translation direction; corpora list English first in both. `fa-en`: no noise added to English."""
    normalization: NormalizationConfig = NormalizationConfig()
    filters: FilterConfig = FilterConfig()
    split: SplitConfig = SplitConfig()
    prepared_directory: Annotated[Place, Effect.FREE] = "data/prepared"
    """Folder for prepared data; folder names contain a fingerprint of all inputs and settings."""
    workers: Annotated[int, Field(ge=0, le=256), Effect.FREE] = 0
    """Number of processes that prepare the corpus; 0: one per core if it is large. Does not affect the result."""

    @rule("`name` is taken by an earlier source; sources share one only if each has a different `use`")
    def _names_of_earlier_sources(self) -> list[str]:
        """Return the key of each name that an earlier source has, unless each of them fills another split."""
        keys = []
        for number, source in enumerate(self.sources):
            namesakes = [earlier for earlier in self.sources[:number] if earlier.name == source.name]
            uses = [namesake.use for namesake in namesakes]
            # `auto` fills all splits, so it shares one with any other use.
            shares_a_split = source.use in uses or "auto" in uses or source.use == "auto"
            if namesakes and shares_a_split:
                keys.append(f"sources.{number}.name")
        return keys

    @property
    def languages(self) -> Languages:
        """The source language and the target language."""
        return (ENGLISH, PERSIAN) if self.direction == "en-fa" else (PERSIAN, ENGLISH)
