"""The settings of a recipe: one frozen model per YAML section; each key has type, range, default, help and effect."""

from typing import Annotated, Literal, get_args

from pydantic import Field

from translator.config.corpus_section import CorpusConfig, SourceConfig, TestSetConfig
from translator.config.keys import (
    DEVICE,
    DEVICE_NAMES,
    Count,
    Effect,
    Fraction,
    PathText,
    Place,
    PositiveInt,
    Rule,
    Section,
    Seed,
    Share,
    matching,
)

MetricName = Literal["bleu", "bleu_intl", "chrf", "chrf++", "ter", "length_ratio", "spbleu", "comet"]

MOST_COUNTED = 10_000  # pieces a side: counting takes 4 GB for so many


class SubwordConfig(Section, effect=Effect.PIECES):
    """SentencePiece models."""

    rules = (
        Rule("`byte_fallback` excludes `model_type: char`", lambda c: not c.byte_fallback or c.model_type != "char"),
        Rule(
            "`vocabulary_size` exceeds 260 with `byte_fallback`",
            lambda c: not c.byte_fallback or c.vocabulary_size > 260,
        ),
        Rule("`sampling` is 0 with `model_type: char`", lambda c: c.sampling == 0 or c.model_type != "char"),
        Rule("`case: fold` excludes `joint: true`", lambda c: c.case != "fold" or not c.joint),
    )

    models_from: Place | None = None
    """Run folder whose subword models are taken over, for fine-tuning; the other keys then only describe them."""
    model_type: Literal["unigram", "bpe", "char"] = "unigram"
    """Kind of model."""
    vocabulary_size: Annotated[int, Field(ge=8, le=256_000)] = 8000
    """Pieces of each side, or of both together when joint, with special tokens; an upper limit for `char`."""
    joint: bool = False
    """One model for both languages instead of one each."""
    case: Literal["keep", "fold"] | None = None
    """`fold`: the model reads English in lower case; `null`: fold, except for a joint model, which Persian shares."""
    character_coverage: Annotated[float, Field(ge=0.98, le=1.0)] = 0.9999
    """Share of all characters that the vocabulary must cover."""
    byte_fallback: bool | None = None
    """Spell unknown characters as bytes (256 pieces); `null`: yes, except for `char` and vocabularies below 1,000."""
    placeholders: Annotated[int, Field(ge=0, le=16)] = 0
    """Pieces that stand for what is copied: addresses, handles, names of files, emoji, numbers in digits; 0: none."""
    max_training_sentences: PositiveInt = 100_000
    """Sentences of each side that a model is trained on at most, drawn at random."""
    seed: Seed = 1
    """Seed of that draw."""
    sampling: Annotated[Fraction, Effect.BATCHES] = 0.0
    """Subword regularization: unigram smoothing (Kudo 2018 §3; 0.2) or BPE dropout (Provilkov et al. 2020; 0.1)."""

    @property
    def folds_case(self) -> bool:
        """Whether the source model reads text in lower case."""
        return not self.joint if self.case is None else self.case == "fold"


class BatchingConfig(Section, effect=Effect.BATCHES):
    """From sentences to batches."""

    rules = (Rule("`tokens_per_batch` must be at least `max_length`", lambda c: c.tokens_per_batch >= c.max_length),)

    tokens_per_batch: PositiveInt = 4096
    """Positions of a batch, on its larger side, padding included."""
    max_length: Annotated[int, Field(ge=2, le=1_000_000)] = 256
    """Longest side of a training pair in tokens, with SOS or EOS; longer pairs are left out and counted."""
    max_sentences: PositiveInt | None = None
    """Largest number of rows in a batch."""
    temperature: Annotated[float, Field(ge=1.0, le=1000)] = 1.0
    """Balances sources: an epoch draws from each in proportion to weight × pairs ^ (1 / temperature)."""


class ModelConfig(Section, effect=Effect.NETWORK):
    """The encoder-decoder Transformer (Vaswani et al. 2017)."""

    rules = (
        Rule("`heads` must divide `d_model`", lambda c: c.d_model % c.heads == 0),
        Rule(
            "`positions: sinusoidal` needs an even `d_model`",
            lambda c: c.positions != "sinusoidal" or not c.d_model % 2,
        ),
        Rule(
            "`positions: rotary` needs an even `d_model / heads`",
            lambda c: c.positions != "rotary" or c.d_model % c.heads > 0 or c.d_model // c.heads % 2 == 0,
        ),
    )

    d_model: Annotated[int, Field(ge=1, le=65_536)] = 512
    """Width of the residual stream."""
    heads: PositiveInt = 8
    """Attention heads; must divide `d_model`."""
    encoder_layers: Annotated[int, Field(ge=1, le=1000)] = 6
    """Encoder layers."""
    decoder_layers: Annotated[int, Field(ge=1, le=1000)] = 6
    """Decoder layers."""
    feed_forward: Annotated[int, Field(ge=1, le=1_000_000)] = 2048
    """Inner width of the feed-forward sublayer."""
    dropout: Annotated[Fraction, Effect.UPDATES] = 0.1
    """Dropout after each sublayer and after the embedding (Vaswani et al. 2017 §5.4)."""
    attention_dropout: Annotated[Fraction, Effect.UPDATES] = 0.0
    """Dropout on the attention weights."""
    feed_forward_dropout: Annotated[Fraction, Effect.UPDATES] = 0.0
    """Dropout after the activation of the feed-forward sublayer."""
    norm: Literal["pre", "post"] = "pre"
    """LayerNorm before each sublayer, with one more at the end of each stack, or after the residual sum."""
    activation: Literal["relu", "gelu", "swiglu"] = "relu"
    """Activation of the feed-forward sublayer."""
    positions: Literal["sinusoidal", "learned", "rotary"] = "sinusoidal"
    """Positions: a fixed or learned vector added to the embedding, or rotated queries and keys (Su et al. 2021)."""
    max_positions: Annotated[int, Field(ge=1, le=1_000_000)] = 1024
    """Longest sequence, in tokens."""
    tied_embeddings: Literal["none", "target", "all"] = "target"
    """Shared weights: none; target embedding and output head; both embeddings and the head (joint subwords)."""


class AugmentationConfig(Section, effect=Effect.BATCHES):
    """Shares of the training pairs that are changed, anew in each epoch; validation text stays as it is."""

    typos: Share = 0.0
    """Pairs whose English gets a typo in a fifth of its longer words."""
    final_punctuation: Share = 0.0
    """Pairs whose English loses the punctuation at its end, so that the model learns to put it there."""
    case: Share = 0.0
    """Pairs whose English is put into capitals, title case or lower case; for models that keep case."""
    numbers: Share = 0.0
    """Pairs whose numbers, where both sides have the same, become other numbers."""
    copies: Share = 0.0
    """Pairs that get a placeholder on both sides: for a Latin word that both have, or at one end."""


class TrainingConfig(Section, effect=Effect.UPDATES):
    """Optimisation, validation and checkpoints."""

    rules = (
        Rule(
            "`schedule_clock: minutes` needs `schedule: cosine` and `max_minutes`",
            lambda c: c.schedule_clock == "steps" or (c.schedule == "cosine" and c.max_minutes is not None),
        ),
    )

    max_steps: Annotated[PositiveInt, Effect.HARMLESS] = 100_000
    """Updates of the weights."""
    max_minutes: Annotated[Annotated[float, Field(gt=0, le=10_000_000)] | None, Effect.HARMLESS] = None
    """Stop after so many minutes of training, all restarts of the run together."""
    accumulation_steps: Annotated[int, Field(ge=1, le=10_000)] = 1
    """Batches whose gradients are summed for one update, over all processes."""
    processes: Annotated[Literal["auto"] | Annotated[int, Field(ge=1, le=64)], Effect.PROCESSES] = "auto"
    """Processes that share each update on this machine; `auto`: one for each GPU, one on a CPU."""
    initialization: Annotated[Literal["random", "counts"], Effect.START] = "random"
    """`counts`: start from which words are used alike and which translate each other, counted in the training text."""
    initialize_from: Annotated[Place | None, Effect.START] = None
    """Run folder or checkpoint folder whose weights a new run starts from."""
    optimizer: Annotated[Literal["adamw", "muon"], Effect.MOMENTS] = "adamw"
    """`muon` updates the matrices of the layers by Muon, all else by AdamW; an update learns more and takes longer."""
    learning_rate: Annotated[float, Field(gt=0, le=100)] = 7e-4
    """Peak learning rate, reached at the end of the warm-up."""
    schedule: Literal["inverse_sqrt", "cosine", "constant"] = "inverse_sqrt"
    """Learning rate after the warm-up; `cosine` falls to a hundredth of the peak at `max_steps`."""
    schedule_clock: Literal["steps", "minutes"] = "steps"
    """`minutes`: compress the cosine schedule and the start of dropout into `max_minutes`; not bit-reproducible."""
    warmup_steps: Count = 4000
    """Updates of linear warm-up."""
    beta1: Fraction = 0.9
    """Decay rate of Adam's first moment."""
    beta2: Fraction = 0.98
    """Decay rate of Adam's second moment."""
    weight_decay: Annotated[float, Field(ge=0, le=100)] = 0.0
    """Decoupled weight decay of AdamW and Muon, on matrices only."""
    label_smoothing: Fraction = 0.1
    """Share of each label's probability that is spread over the vocabulary."""
    dropout_from: Count = 0
    """First update with dropout and R-Drop, in the time of `schedule_clock`; a late one helps short trainings."""
    augmentation: AugmentationConfig = AugmentationConfig()
    r_drop: Annotated[float, Field(ge=0, le=100)] = 0.0
    """Weight of the divergence between two passes with different dropout (Liang et al. 2021); 0: off."""
    gradient_clip: Annotated[float, Field(gt=0, le=1_000_000_000)] | None = 1.0
    """Largest L2 norm of the whole gradient; `null`: no clipping."""
    max_skipped_updates: Annotated[PositiveInt, Effect.HARMLESS] = 10
    """Successive updates skipped because loss or gradient is not finite, before the run stops."""
    ema_decay: Annotated[Annotated[float, Field(gt=0, lt=1)] | None, Effect.AVERAGE] = None
    """Keep an exponential moving average of the weights, and validate and export it; for example 0.999."""
    precision: Literal["auto", "float32", "bf16", "fp16"] = "auto"
    """`bf16` and `fp16` compute under autocast with float32 weights, `fp16` with a loss scale; `auto`: the fastest."""
    attention: Literal["auto", "fused", "plain"] = "auto"
    """Kernel of attention: torch's fused one, or plain products and a softmax; `auto` chooses by device and shape."""
    compile: Literal["auto", "never", "always"] = "auto"
    """Compile the training step with `torch.compile`; `auto`: on a CUDA GPU, in a run of 2,000 updates or more."""
    matmul_precision: Literal["auto", "highest", "high", "medium"] = "auto"
    """How much float32 products may round inside (see torch.set_float32_matmul_precision); `auto`: where faster."""
    log_every: Annotated[PositiveInt, Effect.HARMLESS] = 50
    """Updates between two rows in TensorBoard."""
    validate_every: Annotated[PositiveInt, Effect.HARMLESS] = 1000
    """Updates between two validations."""
    validation_sentences: Annotated[PositiveInt, Effect.SCORED] = 500
    """Sentences translated and scored at each validation; the loss takes all."""
    sample_translations: Annotated[Count, Effect.HARMLESS] = 5
    """Translations shown in TensorBoard at each validation."""
    checkpoint_every: Annotated[PositiveInt, Effect.HARMLESS] = 1000
    """Updates between two checkpoints; a validation always makes one."""
    keep_checkpoints: Annotated[PositiveInt, Effect.HARMLESS] = 3
    """Newest checkpoints kept."""
    keep_best: Annotated[PositiveInt, Effect.HARMLESS] = 1
    """Best checkpoints kept besides, by `best_metric`."""
    save_in_background: Annotated[bool, Effect.HARMLESS] = True
    """Write checkpoints while training continues."""
    best_metric: Annotated[Literal["loss", "bleu", "chrf"], Effect.BEST] = "chrf"
    """Validation score that selects the best checkpoint."""
    early_stopping: Annotated[PositiveInt | None, Effect.HARMLESS] = None
    """Stop after so many validations in a row without a better `best_metric`."""

    def finished(self, step: int, seconds: float, validations_without_gain: int) -> str | None:
        """Return why training is over after `step` updates and `seconds`, with the key to change; else None."""
        if step >= self.max_steps:
            return f"training.max_steps={self.max_steps} is reached"
        if self.max_minutes is not None and seconds >= 60 * self.max_minutes:
            return f"training.max_minutes={self.max_minutes:g} are used up"
        if self.early_stopping is not None and validations_without_gain >= self.early_stopping:
            setting = f"(training.early_stopping={self.early_stopping})"
            return f"{self.best_metric} has not improved for {validations_without_gain} validations {setting}"
        return None


class SearchConfig(Section, effect=Effect.SCORED):
    """How a sequence is chosen from the model's probabilities."""

    rules = (
        Rule(
            "`min_length_ratio` must not exceed `max_length_ratio`", lambda c: c.max_length_ratio >= c.min_length_ratio
        ),
    )

    method: Literal["greedy", "beam", "sampling"] = "beam"
    """Algorithm: the most probable token at each step, the best of several hypotheses, or tokens drawn at random."""
    beam_size: Annotated[int, Field(ge=1, le=1000)] = 5
    """Hypotheses kept per sentence by beam search."""
    length_penalty: Annotated[float, Field(ge=0, le=10)] = 1.0
    """Alpha, the strength of the length penalty; 0 compares plain sums, which favours short hypotheses."""
    length_normalization: Literal["gnmt", "average"] = "gnmt"
    """Divisor of scores: ((5 + length) / 6) ** alpha (Wu et al. 2016 §7), or length ** alpha."""
    max_length_ratio: Annotated[float, Field(gt=0, le=100)] = 2.0
    """Longest output, as a multiple of the source's tokens, plus ten tokens."""
    min_length_ratio: Annotated[float, Field(ge=0, le=100)] = 0.0
    """Shortest output, as a multiple of the source's tokens, rounded down."""
    no_repeat_ngram: Annotated[int, Field(ge=0, le=100)] = 0
    """Forbid a second occurrence of any sequence of so many tokens in a hypothesis; 0: allow."""
    orthography: bool = True
    """Write a Persian translation as it is typeset: affixes joined by ZWNJ (می روم, کتاب ها), auxiliary verbs apart."""
    correct_spelling: bool = True
    """Read an English word that the training text lacks as the frequent word that is one typing mistake away."""
    temperature: Annotated[float, Field(gt=0, le=100)] = 1.0
    """Divisor of the logits before sampling; below 1, probable tokens become more probable."""
    top_k: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    """Sample from the k most probable tokens; 0: from all."""
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Nucleus sampling: the smallest set of tokens whose probability reaches `top_p` (Holtzman et al. 2020 §3.1)."""
    seed: Seed = 1
    """Seed of sampling; a text with one seed gives one translation, whatever else is in its batch."""
    batch_size: Annotated[PositiveInt, Effect.HARMLESS] = 64
    """Sentences searched together."""
    precision: Literal["float32", "bf16", "int8"] = "float32"
    """Precision of the model while it translates; bf16 needs hardware support, int8 the engine ctranslate2."""
    processes: Annotated[int, Field(ge=0, le=256), Effect.HARMLESS] = 0
    """Processes that translate together; 0: one for little text or a GPU, otherwise one for each core."""


class EvaluationConfig(Section, effect=Effect.HARMLESS):
    """Scoring on held-out text."""

    test_sets: Annotated[tuple[TestSetConfig, ...], Field(strict=False), Effect.TEXT] = ()
    """Test sets besides the corpus's own test split; their text is kept out of the training split."""
    metrics: Annotated[tuple[MetricName, ...], Field(strict=False, min_length=1)] = get_args(MetricName)
    """Scores to compute; BLEU 13a on raw text is always first. A score without its model is left out."""
    robustness: bool = False
    """Translate and score each test set again as people type it: capitals, typos, no final punctuation and others."""
    bootstrap_samples: Annotated[int, Field(ge=40, le=1_000_000)] = 1000
    """Resamples of a test set for the 95% interval of each score (Koehn 2004)."""
    rare_below: PositiveInt = 5
    """A source word is rare if it occurs fewer times in the training text."""
    comet_model: Place | None = None
    """A COMET checkpoint (.ckpt), a local file from a trusted origin, since COMET unpickles it. `null`: no COMET."""

    @property
    def test_sources(self) -> tuple[SourceConfig, ...]:
        """The test sets as corpora of which all is for testing."""
        return tuple(SourceConfig(**test_set.model_dump(), use="test") for test_set in self.test_sets)


class RunConfig(Section, effect=Effect.HARMLESS):
    """Where a run is kept, what it starts from and what it runs on."""

    directory: PathText
    """Run folder, which holds everything that a run writes; relative to the current folder."""
    seed: Annotated[Seed, Effect.BATCHES] = 1
    """Seed of initialisation, dropout and batch order."""
    device: Annotated[str, matching(DEVICE, DEVICE_NAMES), Effect.MACHINE] = "auto"
    """`auto` (a GPU if there is one), `cpu`, `mps` (Apple's GPU), `cuda` or `cuda:N`."""
    threads: Annotated[int, Field(ge=0, le=1024), Effect.MACHINE] = 0
    """CPU threads for computing; 0: all cores."""


def _names_taken(config: "Config") -> list[str]:
    sources, tests = ([one.name for one in sets] for sets in (config.corpus.sources, config.evaluation.test_sets))
    taken = (number for number, name in enumerate(tests) if name in (*sources, *tests[:number]))
    return [f"evaluation.test_sets.{number}.name" for number in taken]


def _changes_english(config: "Config") -> bool:
    kinds = config.training.augmentation
    return bool(kinds.typos or kinds.final_punctuation or kinds.case) or config.evaluation.robustness


class Config(Section):
    """A whole recipe."""

    rules = (
        Rule(
            "`model.tied_embeddings: all` needs `subword.joint: true`",
            lambda c: c.model.tied_embeddings != "all" or c.subword.joint,
        ),
        Rule(
            "`training.initialization: counts` excludes `model.tied_embeddings: all`, and needs a "
            f"`subword.vocabulary_size` of at most {MOST_COUNTED:,}",
            lambda c: (
                c.training.initialization == "random"
                or (c.subword.vocabulary_size <= MOST_COUNTED and c.model.tied_embeddings != "all")
            ),
        ),
        Rule(
            "`subword.placeholders` and `training.augmentation.copies` are both 0 or both above 0",
            lambda c: (c.subword.placeholders > 0) == (c.training.augmentation.copies > 0),
        ),
        Rule(
            "`training.augmentation.case` needs `subword.case: keep`",
            lambda c: not c.training.augmentation.case or not c.subword.folds_case,
        ),
        Rule(
            "`corpus.direction: fa-en` excludes what changes the English source: `training.augmentation.typos`, "
            "`training.augmentation.final_punctuation`, `training.augmentation.case` and `evaluation.robustness`",
            lambda c: c.corpus.direction == "en-fa" or not _changes_english(c),
        ),
        Rule(
            "`batching.max_length` must not exceed `model.max_positions`",
            lambda c: c.batching.max_length <= c.model.max_positions,
        ),
        Rule("`name` of a test set is that of a source or an earlier test set; scores are kept under it", _names_taken),
    )

    run: RunConfig
    corpus: CorpusConfig
    subword: SubwordConfig = SubwordConfig()
    batching: BatchingConfig = BatchingConfig()
    model: ModelConfig = ModelConfig()
    training: TrainingConfig = TrainingConfig()
    search: SearchConfig = SearchConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
