"""The settings of a recipe: one frozen model per YAML section. Each key has type, range, default, help and effect.

The sections `corpus`, `training` and `search` have files of their own.
"""

import shlex
from typing import TYPE_CHECKING, Annotated, Literal, get_args

from pydantic import Field

from translator.config.corpus_section import CorpusConfig, SourceConfig, TestSetConfig
from translator.config.keys import (
    DEVICE,
    DEVICE_NAMES,
    Effect,
    Fraction,
    PathText,
    Place,
    PositiveInt,
    Section,
    Seed,
    matching,
    rule,
)
from translator.config.search_section import SearchConfig
from translator.config.training_section import TrainingConfig

if TYPE_CHECKING:  # it imports torch
    from translator.core.layers import NetworkSettings

MetricName = Literal["bleu", "bleu_intl", "chrf", "chrf++", "ter", "length_ratio", "spbleu"]

METRIC_NAME = r"[A-Za-z][\w.+-]{0,39}"
MOST_COUNTED = 10_000  # pieces per side; counting needs 4 GB for this number


class SubwordConfig(Section, effect=Effect.REFUSED):
    """Subword models (SentencePiece)."""

    # --- which models ---
    models_from: Place | None = None
    """Run folder whose subword models are reused; set the other keys as in that run."""
    model_type: Literal["unigram", "bpe", "char"] = "unigram"
    """Type of SentencePiece model; `char`: one piece per character."""
    vocabulary_size: Annotated[int, Field(ge=8, le=256_000)] = 8000
    """Pieces per language, or in total if `joint`, with special tokens; fewer if the text has no more."""
    joint: bool = False
    """Train one model for both languages instead of one per language."""
    case: Literal["keep", "fold"] | None = None
    """`fold`: an English source is read in lower case. `null`: `keep` for a joint model, else `fold`."""
    byte_fallback: bool | None = None
    """Encode unknown characters as bytes (256 pieces). `null`: yes, except for `char` and vocabularies below 1,000."""
    placeholders: Annotated[int, Field(ge=0, le=16)] = 0
    """Placeholder pieces for text that is copied: addresses, handles, file names, emoji, numbers in digits; 0: off."""

    @rule("`model_type: char` forbids `byte_fallback`")
    def _has_no_bytes_with_characters(self) -> bool:
        """A model with one piece per character has no pieces for bytes."""
        return self.model_type != "char" or not self.byte_fallback

    @rule("`vocabulary_size` must exceed 260 with `byte_fallback`")
    def _has_room_for_bytes(self) -> bool:
        """Bytes take 256 pieces and special tokens 4; text needs some too."""
        return not self.byte_fallback or self.vocabulary_size > 260

    @rule("`case: fold` cannot be combined with `joint: true`")
    def _folds_no_joint_case(self) -> bool:
        """A joint model also writes the target, whose case must stay."""
        return not self.joint or self.case != "fold"

    @property
    def folds_case(self) -> bool:
        """Whether the source model reads text in lower case."""
        return not self.joint if self.case is None else self.case == "fold"


class BatchingConfig(Section, effect=Effect.RESULT):
    """How training pairs form batches: rows of several sentences, one after the other, on both sides."""

    tokens_per_batch: PositiveInt = 4096
    """Positions of a batch on either side (all processes): rows times `max_length`; lower it if memory runs out."""
    max_length: Annotated[int, Field(ge=2, le=1_000_000)] = 256
    """Positions of a row on either side. Training skips longer pairs (with EOS), translation splits longer input."""
    temperature: Annotated[float, Field(ge=1.0, le=1000)] = 1.0
    """Temperature for balancing sources: each is sampled in proportion to weight × pairs ^ (1 / temperature)."""

    @rule("`tokens_per_batch` must be at least `max_length`")
    def _has_at_least_one_row(self) -> bool:
        """A batch has `tokens_per_batch` / `max_length` rows."""
        return self.tokens_per_batch >= self.max_length


class ModelConfig(Section, effect=Effect.REFUSED):
    """The encoder-decoder Transformer (Vaswani et al. 2017)."""

    # --- size ---
    d_model: Annotated[int, Field(ge=1, le=65_536)] = 512
    """Width of embeddings and hidden states (the residual stream)."""
    heads: PositiveInt = 8
    """Number of attention heads; must divide `d_model`."""
    encoder_layers: Annotated[int, Field(ge=1, le=1000)] = 6
    """Number of encoder layers."""
    decoder_layers: Annotated[int, Field(ge=1, le=1000)] = 6
    """Number of decoder layers."""
    feed_forward: Annotated[int, Field(ge=1, le=1_000_000)] = 2048
    """Inner width of the feed-forward sublayer."""
    # --- regularization: takes no part in the shapes, so a run may change it ---
    dropout: Annotated[Fraction, Effect.RESULT] = 0.1
    """Dropout after each sublayer and after the embedding (Vaswani et al. 2017 §5.4)."""
    attention_dropout: Annotated[Fraction, Effect.RESULT] = 0.0
    """Dropout on the attention weights."""
    feed_forward_dropout: Annotated[Fraction, Effect.RESULT] = 0.0
    """Dropout after the activation of the feed-forward sublayer."""
    # --- structure ---
    norm: Literal["pre", "post"] = "pre"
    """`pre`: LayerNorm before each sublayer and at the end of each stack; `post`: after each residual sum."""
    activation: Literal["relu", "gelu", "swiglu"] = "relu"
    """Activation of the feed-forward sublayer."""
    positions: Literal["sinusoidal", "learned", "rotary"] = "sinusoidal"
    """Positions: fixed or learned vectors added to embeddings, or rotary (Su et al. 2021), up to `max_positions`."""
    max_positions: Annotated[int, Field(ge=1, le=1_000_000)] = 1024
    """Longest sequence that the model accepts, in tokens."""
    tied_embeddings: Literal["none", "target", "all"] = "target"
    """Tied weights: `none`; `target`: target embedding and head; `all`: source embedding too (`subword.joint`)."""

    @rule("`heads` must divide `d_model`")
    def _heads_divide_the_width(self) -> bool:
        """Every head has the same share of the model width."""
        return self.d_model % self.heads == 0

    @rule("`positions: sinusoidal` needs an even `d_model`")
    def _sinusoids_come_in_pairs(self) -> bool:
        """Each frequency fills two positions of the embedding, with a sine and a cosine."""
        return self.positions != "sinusoidal" or self.d_model % 2 == 0

    @rule("`positions: rotary` needs an even `d_model / heads`")
    def _rotations_have_two_dimensions(self) -> bool:
        """Rotary positions turn pairs of dimensions inside a head; `heads` that do not divide break another rule."""
        if self.positions != "rotary" or not self._heads_divide_the_width():
            return True
        return self.d_model // self.heads % 2 == 0

    @property
    def settings(self) -> "NetworkSettings":
        """The settings of the core's network."""
        from translator.core.layers import NetworkSettings  # imports torch

        return NetworkSettings(**dict(self))


class ExternalMetric(Section, effect=Effect.FREE):
    """A metric of another program."""

    name: Annotated[str, matching(METRIC_NAME, "letters, digits, dots, + and hyphens")]
    """Its name in the tables of scores."""
    command: Annotated[str, Field(min_length=1)]
    """A command that prints one score a line; `{source}`, `{hypothesis}` and `{reference}` are files of lines."""

    @rule("`command` must be a command of a shell, with no other braces than `{source}`, `{hypothesis}`, `{reference}`")
    def _has_a_command(self) -> bool:
        """Braces of the program itself are written twice."""
        try:
            for part in shlex.split(self.command):
                part.format(source="", hypothesis="", reference="")
        except (KeyError, IndexError, ValueError):
            return False
        return True


class EvaluationConfig(Section, effect=Effect.FREE):
    """Evaluation on held-out text."""

    # --- text and metrics ---
    test_sets: Annotated[tuple[TestSetConfig, ...], Field(strict=False), Effect.REFUSED] = ()
    """Additional test sets beside the test split; their text is removed from training and validation text."""
    metrics: Annotated[tuple[MetricName, ...], Field(strict=False, min_length=1)] = get_args(MetricName)
    """Metrics to compute; BLEU 13a on raw text is always added. A metric whose model is missing is skipped."""
    robustness: bool = False
    """Also translate and score each test set with noisy input: capitals, typos, no final punctuation and others."""
    external_metrics: Annotated[tuple[ExternalMetric, ...], Field(strict=False)] = ()
    """Metrics of other programs, such as COMET, for which a command prints one score a line (docs/evaluation.md)."""

    @property
    def test_sources(self) -> tuple[SourceConfig, ...]:
        """The test sets as corpora with `use: test`."""
        return tuple(SourceConfig(**test_set.model_dump(), use="test") for test_set in self.test_sets)


class RunConfig(Section, effect=Effect.FREE):
    """Folder, seed and hardware of a run."""

    directory: PathText
    """Run folder, relative to the current folder; prepared data is in `corpus.prepared_directory` instead."""
    seed: Annotated[Seed, Effect.RESULT] = 1
    """Random seed of initialisation, dropout, batch order and augmentation."""
    device: Annotated[str, matching(DEVICE, DEVICE_NAMES)] = "auto"
    """`cpu`, `mps` (Apple's GPU), `cuda:N` (one GPU), `cuda` (all GPUs in training); `auto`: a GPU if there is one."""
    threads: Annotated[int, Field(ge=0, le=1024)] = 0
    """CPU threads (0: all cores), in training divided among processes; preparation has `corpus.workers`."""


class Config(Section):
    """A whole recipe."""

    run: RunConfig
    corpus: CorpusConfig
    subword: SubwordConfig = SubwordConfig()
    batching: BatchingConfig = BatchingConfig()
    model: ModelConfig = ModelConfig()
    training: TrainingConfig = TrainingConfig()
    search: SearchConfig = SearchConfig()
    evaluation: EvaluationConfig = EvaluationConfig()

    @rule("`model.tied_embeddings: all` needs `subword.joint: true`")
    def _tied_languages_share_pieces(self) -> bool:
        """One embedding for both languages needs one vocabulary."""
        return self.model.tied_embeddings != "all" or self.subword.joint

    @rule(
        "`training.initialization: counts` cannot be combined with `model.tied_embeddings: all`, and "
        f"needs a `subword.vocabulary_size` of at most {MOST_COUNTED:,}"
    )
    def _counts_are_possible(self) -> bool:
        """Counting needs separate embeddings for the two languages, and memory for each pair of pieces."""
        if self.training.initialization == "random":
            return True
        return self.subword.vocabulary_size <= MOST_COUNTED and self.model.tied_embeddings != "all"

    @rule("`subword.placeholders` and `training.augmentation.copies` must both be 0 or both be above 0")
    def _copies_have_placeholders(self) -> bool:
        """Placeholders are learned from copied words, and copied words are placeholders."""
        return (self.subword.placeholders > 0) == (self.training.augmentation.copies > 0)

    @rule(
        "`corpus.direction: fa-en` cannot be combined with changes to English: "
        "`training.augmentation.typos`, `training.augmentation.final_punctuation` and `evaluation.robustness`"
    )
    def _english_is_changed_only_as_source(self) -> bool:
        """Noise in the input is fine; noise in the reference would be learned."""
        augmentation = self.training.augmentation
        changes = (augmentation.typos, augmentation.final_punctuation, self.evaluation.robustness)
        return self.corpus.direction == "en-fa" or not any(changes)

    @rule("`batching.max_length` must not exceed `model.max_positions`")
    def _rows_fit_the_model(self) -> bool:
        """A sentence may be as long as a row, and the model must have a position for each of its tokens."""
        return self.batching.max_length <= self.model.max_positions

    @rule("`name` of a test set is already used by a source or an earlier test set; choose another")
    def _test_sets_without_a_name_of_their_own(self) -> list[str]:
        """Return the key of each name of a test set that a source or an earlier test set has."""
        taken_names = {source.name for source in self.corpus.sources}
        keys = []
        for number, test_set in enumerate(self.evaluation.test_sets):
            if test_set.name in taken_names:
                keys.append(f"evaluation.test_sets.{number}.name")
            taken_names.add(test_set.name)
        return keys
