"""The sections about text: where it comes from, how it is split, cut into subwords and batched."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from translator.config import rules
from translator.config.cleaning_sections import FilterConfig, NormalizationConfig
from translator.config.section import Count, Fraction, Name, PathText, PositiveInt, Rule, Section


class SourceConfig(Section):
    """One parallel corpus, read in place: a zip, a two-column TSV, two files, or a folder of these.

    Any file but a zip may be compressed with gzip, xz or zstd.
    """

    rules: ClassVar[tuple[Rule, ...]] = (rules.one_layout, rules.both_members, rules.members_of_a_zip)

    name: Name
    """Short name, used for file names, test sets and reports."""
    path: PathText | None = None
    """A zip archive, a two-column TSV (English, tab, Persian), or a folder of zips, TSVs and pairs of files."""
    source_path: PathText | None = None
    """English file, with `target_path`, instead of `path`."""
    target_path: PathText | None = None
    """Persian file."""
    source_member: PathText | None = None
    """Name of the English member of a zip; recognised when left out."""
    target_member: PathText | None = None
    """Name of the Persian member of a zip; recognised when left out."""
    max_pairs: PositiveInt | None = None
    """Read only the first N pairs."""
    use: Literal["auto", "train", "validation", "test"] = "auto"
    """`auto` splits this source as `corpus.split` says; otherwise all of it goes into the named split."""
    weight: Annotated[float, Field(gt=0, le=1_000_000)] = 1.0
    """How often a training pair of this source is drawn, compared with one of weight 1 (see `batching.temperature`)."""
    invalid_utf8: Literal["error", "drop"] = "error"
    """What to do about a line that is not UTF-8: stop and say where, or drop its pair and count it."""
    obtain: str | None = None
    """What to tell a person when the file is missing: where to get it and where to put it."""


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

    rules: ClassVar[tuple[Rule, ...]] = (rules.distinct_sources, rules.weights_are_for_training)

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
    workers: Annotated[int, Field(ge=0, le=1024)] = 0
    """Processes that clean, train and sample; 0 takes one a core for a large corpus. The result does not hang on it."""


class SubwordConfig(Section):
    """SentencePiece models."""

    rules: ClassVar[tuple[Rule, ...]] = (
        rules.no_bytes_beside_characters,
        rules.room_for_bytes,
        rules.several_segmentations,
    )

    model_type: Literal["unigram", "bpe", "char"] = "unigram"
    """Kind of model."""
    vocabulary_size: Annotated[int, Field(ge=8, le=256_000)] = 8000
    """Pieces, special tokens included; of each side, or of both together when joint. An upper limit for `char`."""
    joint: bool = False
    """One model for both languages instead of one each."""
    character_coverage: Annotated[float, Field(ge=0.98, le=1.0)] = 0.9999
    """Share of all characters that must be in the vocabulary."""
    byte_fallback: bool | None = None
    """Spell unknown characters as bytes (256 pieces), so that no input is ever unknown. `null`: yes, but for `char` and
    vocabularies of less than 1,000 pieces."""
    max_training_sentences: PositiveInt = 100_000
    """Sentences that a model is trained on at most, drawn at random from each side."""
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 1
    """Seed of that draw."""
    sampling: Fraction = 0.0
    """Subword regularization in training: draw the pieces anew in each epoch. The smoothing of unigram sampling (Kudo
    2018 §3, say 0.2; smaller is wilder) or the dropout of BPE merges (Provilkov et al. 2020, say 0.1); 0 is off."""


class BatchingConfig(Section):
    """From sentences to batches."""

    rules: ClassVar[tuple[Rule, ...]] = (rules.longest_pair_fits,)

    tokens_per_batch: PositiveInt = 4096
    """Positions of a batch, on its larger side, padding included."""
    max_length: Annotated[int, Field(ge=2, le=1_000_000)] = 256
    """Longest side of a training pair, in tokens with SOS or EOS; longer pairs are left out, counted and reported."""
    max_sentences: PositiveInt | None = None
    """Rows of a batch at most."""
    temperature: Annotated[float, Field(ge=1.0, le=1000)] = 1.0
    """Evens out sources of unlike size: an epoch draws from each as much as weight × pairs ^ (1 / temperature) says."""
