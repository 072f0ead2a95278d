"""The sections about text: where it comes from, how it is cleaned, split, cut into subwords and batched."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from translator.config import rules
from translator.config.section import Count, Name, PathText, PositiveInt, Rule, Section


class SourceConfig(Section):
    """One parallel corpus, read in place: a zip, a two-column TSV, or two files; any of them may be gzipped."""

    rules: ClassVar[tuple[Rule, ...]] = (rules.one_layout, rules.both_members, rules.members_of_a_zip)

    name: Name
    """Short name, used for file names, test sets and reports."""
    path: PathText | None = None
    """A zip archive or a two-column TSV (English, tab, Persian; `.gz` allowed)."""
    source_path: PathText | None = None
    """English file (plain or `.gz`), with `target_path`, instead of `path`."""
    target_path: PathText | None = None
    """Persian file (plain or `.gz`)."""
    source_member: PathText | None = None
    """Name of the English member of a zip; recognised when left out."""
    target_member: PathText | None = None
    """Name of the Persian member of a zip; recognised when left out."""
    max_pairs: PositiveInt | None = None
    """Read only the first N pairs."""
    use: Literal["auto", "train", "validation", "test"] = "auto"
    """`auto` splits this source as `corpus.split` says; otherwise all of it goes into the named split."""
    obtain: str | None = None
    """What to tell a person when the file is missing: where to get it and where to put it."""


class NormalizationConfig(Section):
    """Which rules of the normalizer are applied, to the corpus and at inference alike."""

    arabic_letters: bool = True
    """Arabic yeh and kaf become the Persian letters (Persian side)."""
    presentation_forms: bool = True
    """Ligatures and shaped letters become plain letters (Persian side)."""
    tatweel: bool = True
    """The stretching stroke U+0640 is removed (Persian side)."""
    zero_width: bool = True
    """Invisible characters other than ZWNJ are removed, and ZWNJ is kept only between letters."""
    spaces: bool = True
    """Every kind of white space becomes one plain space, and none stays at the ends."""
    punctuation_spacing: bool = True
    """No space before closing or after opening punctuation: text that a tokenizer took apart is joined again."""
    digits: Literal["keep", "persian", "ascii"] = "persian"
    """Digits of the Persian side; digits glued to Latin letters stay as they are."""
    vowel_marks: Literal["keep", "strip"] = "strip"
    """Short-vowel marks of the Persian side; the tanwin of لطفاً is spelling and always stays."""


class FilterConfig(Section):
    """Which pairs are dropped; `null` (or `false`) switches a filter off. Measured on normalized text."""

    max_words: PositiveInt | None = 100
    """Longest side, in words."""
    max_characters: PositiveInt | None = 1000
    """Longest side, in characters."""
    max_length_ratio: Annotated[float, Field(gt=1.0, le=1_000_000)] | None = 4.0
    """Longer side over shorter side, in characters, once the longer has 20 or more."""
    min_source_script: Annotated[float, Field(ge=0.0, le=1.0)] | None = 0.5
    """Smallest share of Latin letters among the letters of the English side."""
    min_target_script: Annotated[float, Field(ge=0.0, le=1.0)] | None = 0.5
    """Smallest share of Arabic-script letters among the letters of the Persian side."""
    duplicates: bool = True
    """Drop a pair that was seen before (compared without case, punctuation and ZWNJ)."""


class SplitConfig(Section):
    """How each source with `use: auto` is divided. No pair, and no side of a pair, stands in two splits."""

    method: Literal["block", "hash"] = "block"
    """`block`: runs of neighbouring lines are held out; `hash`: single pairs, chosen by a seeded hash of the source."""
    validation: Count = 1000
    """Pairs held out of each source for validation."""
    test: Count = 1000
    """Pairs held out of each source for testing."""
    block_size: PositiveInt | None = None
    """Pairs in a block; blocks are drawn by seed until a split is full. `null`: one run at the end of the source."""
    seed: Annotated[int, Field(ge=0, le=2**63)] = 1
    """Seed of the split; kept apart from `run.seed` so that runs share their test set."""


class CorpusConfig(Section):
    """From raw text to clean, split text."""

    rules: ClassVar[tuple[Rule, ...]] = (rules.distinct_sources,)

    sources: Annotated[tuple[SourceConfig, ...], Field(min_length=1, strict=False)]
    """The parallel corpora."""
    normalization: NormalizationConfig = NormalizationConfig()
    """Rules of the normalizer."""
    filters: FilterConfig = FilterConfig()
    """Rules that drop pairs."""
    split: SplitConfig = SplitConfig()
    """Training, validation and test parts."""
    prepared_directory: PathText = "data/prepared"
    """Where prepared data are kept, under a fingerprint of all that made them."""


class SubwordConfig(Section):
    """SentencePiece models."""

    rules: ClassVar[tuple[Rule, ...]] = (rules.no_bytes_beside_characters, rules.room_for_bytes)

    model_type: Literal["unigram", "bpe", "char"] = "unigram"
    """Kind of model."""
    vocabulary_size: Annotated[int, Field(ge=8, le=256_000)] = 8000
    """Pieces, special tokens included; of each side, or of both together when joint. An upper limit for `char`."""
    joint: bool = False
    """One model for both languages instead of one each."""
    character_coverage: Annotated[float, Field(gt=0.9, le=1.0)] = 0.9999
    """Share of all characters that must be in the vocabulary."""
    byte_fallback: bool = False
    """Spell unknown characters as bytes (256 pieces of the vocabulary), so that no input is ever unknown."""
    max_training_sentences: PositiveInt = 1_000_000
    """Sentences that the model is trained on, spread evenly over the corpus."""


class BatchingConfig(Section):
    """From sentences to batches."""

    rules: ClassVar[tuple[Rule, ...]] = (rules.longest_pair_fits,)

    tokens_per_batch: PositiveInt = 4096
    """Positions of a batch, on its larger side, padding included."""
    max_length: Annotated[int, Field(ge=2, le=1_000_000)] = 256
    """Longest side of a training pair, in tokens with SOS or EOS; longer pairs are left out, counted and reported."""
    max_sentences: PositiveInt | None = None
    """Rows of a batch at most."""
