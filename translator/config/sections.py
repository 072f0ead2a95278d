"""The settings of a recipe: one frozen model per YAML section, each key with its meaning, unit and allowed values.

A room of the house receives only its own section.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from translator.config import rules
from translator.config.evaluation_section import EvaluationConfig
from translator.config.search_section import SearchConfig
from translator.config.section import Fraction, PathText, PositiveInt, Rule, Section, matching
from translator.config.text_sections import BatchingConfig, CorpusConfig, SubwordConfig
from translator.config.training_section import TrainingConfig


class RunConfig(Section):
    """Where a run lives, what it starts from and what it runs on."""

    directory: PathText
    """Run folder; everything a run writes is inside it. Relative to the current folder."""
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 1
    """Seed of initialisation, dropout and batch order."""
    device: Annotated[str, matching(r"auto|cpu|cuda(:[0-9]{1,3})?", "`auto`, `cpu`, `cuda` or `cuda:N`")] = "auto"
    """`auto` (a GPU if there is one), `cpu`, `cuda` or `cuda:N` (N of three digits at most)."""
    threads: Annotated[int, Field(ge=0, le=1024)] = 0
    """CPU threads for computing; 0 takes all cores."""


class ModelConfig(Section):
    """The encoder-decoder Transformer (Vaswani et al. 2017)."""

    rules: ClassVar[tuple[Rule, ...]] = (rules.heads_divide, rules.even_width, rules.even_heads)

    d_model: Annotated[int, Field(ge=1, le=65_536)] = 512
    """Width of the residual stream."""
    heads: PositiveInt = 8
    """Attention heads; must divide `d_model`."""
    encoder_layers: Annotated[int, Field(ge=1, le=1000)] = 6
    """Encoder blocks."""
    decoder_layers: Annotated[int, Field(ge=1, le=1000)] = 6
    """Decoder blocks."""
    feed_forward: Annotated[int, Field(ge=1, le=1_000_000)] = 2048
    """Inner width of the feed-forward sublayer."""
    dropout: Fraction = 0.1
    """After each sublayer and after the embedding (Vaswani et al. 2017 §5.4)."""
    attention_dropout: Fraction = 0.0
    """On the attention weights."""
    feed_forward_dropout: Fraction = 0.0
    """After the activation of the feed-forward sublayer."""
    norm: Literal["pre", "post"] = "pre"
    """LayerNorm before each sublayer (with one more at the end of each stack) or after the residual sum."""
    activation: Literal["relu", "gelu", "swiglu"] = "relu"
    """Activation of the feed-forward sublayer."""
    positions: Literal["sinusoidal", "learned", "rotary"] = "sinusoidal"
    """How positions are told apart: by a vector that is added to the token's, a fixed or a learned one, or by turning
    queries and keys of self-attention, which sees distances then (Su et al. 2021)."""
    max_positions: Annotated[int, Field(ge=1, le=1_000_000)] = 1024
    """Longest sequence, in tokens."""
    tied_embeddings: Literal["none", "target", "all"] = "target"
    """Weights that are one: none; target embedding and output head; both embeddings and the head (joint subwords)."""


class Config(Section):
    """A whole recipe."""

    rules: ClassVar[tuple[Rule, ...]] = (
        rules.tied_only_when_joint,
        rules.positions_suffice,
        rules.test_sets_are_for_testing,
        rules.distinct_test_sets,
    )

    run: RunConfig
    """Folder, seed, device."""
    corpus: CorpusConfig
    """Text."""
    subword: SubwordConfig = SubwordConfig()
    """Vocabularies."""
    batching: BatchingConfig = BatchingConfig()
    """Batches."""
    model: ModelConfig = ModelConfig()
    """Network."""
    training: TrainingConfig = TrainingConfig()
    """Optimisation."""
    search: SearchConfig = SearchConfig()
    """Translating."""
    evaluation: EvaluationConfig = EvaluationConfig()
    """Scoring."""
