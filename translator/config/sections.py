"""The settings of a recipe: one frozen model per YAML section. Each key has type, range, default, help and effect."""

from typing import Annotated, Final, Literal, get_args

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

MOST_COUNTED = 10_000  # pieces per side; counting needs 4 GB for this number


class SubwordConfig(Section, effect=Effect.PIECES):
    """Subword models (SentencePiece)."""

    rules = (
        Rule("`model_type: char` forbids `byte_fallback`", lambda c: not c.byte_fallback or c.model_type != "char"),
        Rule(
            "`vocabulary_size` must exceed 260 with `byte_fallback`",
            lambda c: not c.byte_fallback or c.vocabulary_size > 260,
        ),
        Rule("`sampling` must be 0 with `model_type: char`", lambda c: c.sampling == 0 or c.model_type != "char"),
        Rule("`case: fold` cannot be combined with `joint: true`", lambda c: c.case != "fold" or not c.joint),
    )

    models_from: Place | None = None
    """Run folder whose subword models are reused; set the other keys as in that run (`sampling` may differ)."""
    model_type: Literal["unigram", "bpe", "char"] = "unigram"
    """Type of SentencePiece model; `char`: one piece per character."""
    vocabulary_size: Annotated[int, Field(ge=8, le=256_000)] = 8000
    """Pieces per language, or in total if `joint`, including special tokens; for `char` an upper limit."""
    joint: bool = False
    """Train one model for both languages instead of one per language."""
    case: Literal["keep", "fold"] | None = None
    """`fold`: an English source is read in lower case. `null`: `keep` for a joint model, else `fold`."""
    character_coverage: Annotated[float, Field(ge=0.98, le=1.0)] = 0.9999
    """Share of the character occurrences in the training text that get pieces; see `byte_fallback` for others."""
    byte_fallback: bool | None = None
    """Encode unknown characters as bytes (256 pieces). `null`: yes, except for `char` and vocabularies below 1,000."""
    placeholders: Annotated[int, Field(ge=0, le=16)] = 0
    """Placeholder pieces for text that is copied: addresses, handles, file names, emoji, numbers in digits; 0: off."""
    max_training_sentences: PositiveInt = 100_000
    """Largest number of sentences, drawn at random, for each subword model; `joint` takes half from each language."""
    seed: Seed = 1
    """Seed for drawing the sentences of `max_training_sentences`."""
    sampling: Annotated[Fraction, Effect.BATCHES] = 0.0
    """Subword regularization of both sides: unigram alpha (try 0.2; less is stronger) or BPE dropout (0.1); 0: off."""

    @property
    def folds_case(self) -> bool:
        """Whether the source model reads text in lower case."""
        return not self.joint if self.case is None else self.case == "fold"


class BatchingConfig(Section, effect=Effect.BATCHES):
    """How training pairs form batches: rows of several sentences, one after the other, on both sides."""

    rules = (Rule("`tokens_per_batch` must be at least `max_length`", lambda c: c.tokens_per_batch >= c.max_length),)

    tokens_per_batch: PositiveInt = 4096
    """Positions of a batch on either side (all processes): rows times `max_length`; lower it if memory runs out."""
    max_length: Annotated[int, Field(ge=2, le=1_000_000)] = 256
    """Positions of a row on either side. Training skips longer pairs (with EOS), translation splits longer input."""
    temperature: Annotated[float, Field(ge=1.0, le=1000)] = 1.0
    """Temperature for balancing sources: each is sampled in proportion to weight × pairs ^ (1 / temperature)."""


REMOVED_KEYS: Final = {
    "batching.max_sentences": (
        "this key was removed: every batch has the same shape, `tokens_per_batch` / `max_length` rows; delete the line"
    ),
}
"""Keys of earlier versions, with a message for those who still set them."""


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
    """Width of embeddings and hidden states (the residual stream)."""
    heads: PositiveInt = 8
    """Number of attention heads; must divide `d_model`."""
    encoder_layers: Annotated[int, Field(ge=1, le=1000)] = 6
    """Number of encoder layers."""
    decoder_layers: Annotated[int, Field(ge=1, le=1000)] = 6
    """Number of decoder layers."""
    feed_forward: Annotated[int, Field(ge=1, le=1_000_000)] = 2048
    """Inner width of the feed-forward sublayer."""
    dropout: Annotated[Fraction, Effect.UPDATES] = 0.1
    """Dropout after each sublayer and after the embedding (Vaswani et al. 2017 §5.4)."""
    attention_dropout: Annotated[Fraction, Effect.UPDATES] = 0.0
    """Dropout on the attention weights."""
    feed_forward_dropout: Annotated[Fraction, Effect.UPDATES] = 0.0
    """Dropout after the activation of the feed-forward sublayer."""
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


class AugmentationConfig(Section, effect=Effect.BATCHES):
    """Data augmentation: shares of the training pairs to change, drawn again in each epoch."""

    typos: Share = 0.0
    """Share of pairs whose English gets typos, in a fifth of the words of four or more letters."""
    final_punctuation: Share = 0.0
    """Share of pairs whose English loses its final punctuation, so that the model learns to add it."""
    case: Share = 0.0
    """Share of pairs whose English changes to upper, title or lower case; needs `subword.case: keep`."""
    numbers: Share = 0.0
    """Share of pairs whose numbers become random ones, if on both sides and not replaced by `subword.placeholders`."""
    copies: Share = 0.0
    """Share of pairs where `subword.placeholders` replace 1-2 Latin words of both sides, or are added if none."""


class TrainingConfig(Section, effect=Effect.UPDATES):
    """Optimisation, validation and checkpoints."""

    rules = (
        Rule(
            "`schedule_clock: minutes` needs `schedule: cosine` and `max_minutes`",
            lambda c: c.schedule_clock == "steps" or (c.schedule == "cosine" and c.max_minutes is not None),
        ),
        Rule(
            "`schedule: inverse_sqrt` needs `warmup_steps` above 0",
            lambda c: c.schedule != "inverse_sqrt" or c.warmup_steps > 0,
        ),
    )

    max_steps: Annotated[PositiveInt, Effect.HARMLESS] = 100_000
    """Optimizer updates after which training ends, if no other limit ends it first; `cosine` decays until here."""
    max_minutes: Annotated[Annotated[float, Field(gt=0, le=10_000_000)] | None, Effect.HARMLESS] = None
    """Stop after this many minutes of training, summed over all restarts of the run; `null`: no limit."""
    accumulation_steps: Annotated[int, Field(ge=1, le=10_000)] = 1
    """Gradient accumulation: batches per update over all processes, which split the rows."""
    processes: Annotated[Literal["auto"] | Annotated[int, Field(ge=1, le=64)], Effect.PROCESSES] = "auto"
    """Data-parallel processes on this machine, which divide each update; `auto`: one per GPU, or one on a CPU."""
    initialization: Annotated[Literal["random", "counts"], Effect.START] = "random"
    """Initial weights; `counts`: from word neighbours and word translations counted in the training text."""
    initialize_from: Annotated[Place | None, Effect.START] = None
    """Run folder (its best checkpoint) or checkpoint folder; weights that fit initialize a new run; `null`: none."""
    optimizer: Annotated[Literal["adamw", "muon"], Effect.MOMENTS] = "adamw"
    """`muon`: Muon for matrices of layers, AdamW for the rest, same `learning_rate`; updates gain more, take longer."""
    learning_rate: Annotated[float, Field(gt=0, le=100)] = 7e-4
    """Peak learning rate, reached at the end of the warm-up."""
    schedule: Literal["inverse_sqrt", "cosine", "constant"] = "inverse_sqrt"
    """After warm-up: `inverse_sqrt` peak · √(`warmup_steps` / update), `cosine` to 1% of the peak at `max_steps`."""
    schedule_clock: Literal["steps", "minutes"] = "steps"
    """`minutes`: if the machine is slow, `cosine` and `dropout_from` follow `max_minutes`; not bit-reproducible."""
    warmup_steps: Count = 4000
    """Linear warm-up of the learning rate, in updates; 0: none."""
    beta1: Fraction = 0.9
    """Decay rate of AdamW's first moment."""
    beta2: Fraction = 0.98
    """Decay rate of AdamW's second moment."""
    weight_decay: Annotated[float, Field(ge=0, le=100)] = 0.0
    """Decoupled weight decay of AdamW and Muon, on matrices only."""
    label_smoothing: Fraction = 0.1
    """Label smoothing: probability mass of each label that is spread over the vocabulary."""
    dropout_from: Count = 0
    """Update at which dropout and R-Drop start, scaled by `schedule_clock`; a late start helps short runs."""
    augmentation: AugmentationConfig = AugmentationConfig()
    r_drop: Annotated[float, Field(ge=0, le=100)] = 0.0
    """R-Drop: weight of the KL divergence between two passes with different dropout (Liang et al. 2021); 0: off."""
    gradient_clip: Annotated[float, Field(gt=0, le=1_000_000_000)] | None = 1.0
    """Clip the L2 norm of the gradient of all weights to this value; `null`: no clipping."""
    max_skipped_updates: Annotated[PositiveInt, Effect.HARMLESS] = 10
    """Stop after this many consecutive updates skipped for a non-finite loss or gradient (`fp16` overflow counts)."""
    ema_decay: Annotated[Annotated[float, Field(gt=0, lt=1)] | None, Effect.AVERAGE] = None
    """Decay of an exponential moving average of the weights for validation and export, such as 0.999; `null`: off."""
    precision: Literal["auto", "float32", "bf16", "fp16"] = "auto"
    """`float32`, or autocast to `bf16` or `fp16` (with loss scaling); `auto`: by hardware, `bf16` also on some CPUs."""
    attention: Literal["auto", "fused", "plain"] = "auto"
    """Attention kernel: PyTorch's fused one, or plain matmul and softmax; `auto`: by device and `max_length`."""
    compile: Literal["auto", "never", "always"] = "auto"
    """`torch.compile`: `always`; `auto`: on a CUDA GPU, if `max_steps` >= 2,000; `never`: also no CUDA graph."""
    matmul_precision: Literal["auto", "highest", "high", "medium"] = "auto"
    """Float32 matmul precision (CPU: in training). `auto`: `medium` on a GPU or with fast bf16, else `highest`."""
    log_every: Annotated[PositiveInt, Effect.HARMLESS] = 50
    """Write training metrics to TensorBoard every N updates, and at each checkpoint and validation."""
    validate_every: Annotated[PositiveInt, Effect.HARMLESS] = 1000
    """Validate every N updates, and at the end."""
    validation_sentences: Annotated[PositiveInt, Effect.SCORED] = 500
    """Number of sentences to translate and score at each validation; the loss uses all within `max_length`."""
    sample_translations: Annotated[Count, Effect.HARMLESS] = 5
    """Number of translations shown in TensorBoard at each validation."""
    checkpoint_every: Annotated[PositiveInt, Effect.HARMLESS] = 1000
    """Save a checkpoint every N updates; every validation also saves one."""
    keep_checkpoints: Annotated[PositiveInt, Effect.HARMLESS] = 3
    """Number of newest checkpoints to keep, besides the `keep_best` best ones; older ones are deleted."""
    keep_best: Annotated[PositiveInt, Effect.HARMLESS] = 1
    """Number of best checkpoints, ranked by `best_metric`, to keep besides the newest `keep_checkpoints`."""
    save_in_background: Annotated[bool, Effect.HARMLESS] = True
    """Write checkpoints while training continues."""
    best_metric: Annotated[Literal["loss", "bleu", "chrf"], Effect.BEST] = "chrf"
    """Validation score that selects the best checkpoint."""
    early_stopping: Annotated[PositiveInt | None, Effect.HARMLESS] = None
    """Stop after this many consecutive validations without a better `best_metric`; `null`: never."""

    def finished(self, step: int, seconds: float, validations_without_gain: int) -> str | None:
        """Return why training ends after `step` updates and `seconds`, with the key to change; None if it continues."""
        if step >= self.max_steps:
            return f"training.max_steps={self.max_steps} is reached"
        if self.max_minutes is not None and seconds >= 60 * self.max_minutes:
            return f"training.max_minutes={self.max_minutes:g} is reached"
        if self.early_stopping is not None and validations_without_gain >= self.early_stopping:
            setting = f"(training.early_stopping={self.early_stopping})"
            return f"{self.best_metric} has not improved for {validations_without_gain} validations {setting}"
        return None


class SearchConfig(Section, effect=Effect.HARMLESS):
    """The search algorithm that chooses a translation from the model's probabilities."""

    rules = (
        Rule(
            "`min_length_ratio` must not exceed `max_length_ratio`", lambda c: c.max_length_ratio >= c.min_length_ratio
        ),
    )

    method: Literal["greedy", "beam", "sampling"] = "beam"
    """Search: likeliest token at each step, beam, or random sampling; limits on length and repetition hold for all."""
    beam_size: Annotated[int, Field(ge=1, le=1000)] = 5
    """Beam width: hypotheses per sentence with `method: beam`; validation during training is always greedy."""
    length_penalty: Annotated[float, Field(ge=0, le=10)] = 1.0
    """Exponent alpha in `length_normalization`, for all methods' scores; 0: plain sums, which favour short output."""
    length_normalization: Literal["gnmt", "average"] = "gnmt"
    """Divisor (alpha: `length_penalty`): `gnmt` ((5 + length) / 6) ** alpha, `average` length ** alpha."""
    max_length_ratio: Annotated[float, Field(gt=0, le=100), Effect.SCORED] = 2.0
    """Largest output length in tokens: this multiple of the source length, plus ten."""
    min_length_ratio: Annotated[float, Field(ge=0, le=100), Effect.SCORED] = 0.0
    """Smallest output length in tokens: this multiple of the source length, rounded down."""
    no_repeat_ngram: Annotated[int, Field(ge=0, le=100), Effect.SCORED] = 0
    """Forbid any sequence of N tokens from occurring twice in a hypothesis; 0: off."""
    avoid_loops: Annotated[bool, Effect.SCORED] = True
    """Search again, without repeated tokens, where a translation repeats words more often than its source does."""
    split_sentences: bool = True
    """Translate each sentence of a text alone; validation never does, evaluation if asked on its command line."""
    orthography: Annotated[bool, Effect.SCORED] = True
    """Persian output: join affixes by ZWNJ (می روم, کتاب ها), and use a space before auxiliary verbs."""
    correct_spelling: Annotated[bool, Effect.SCORED] = True
    """Replace an English word unseen in training by the frequent word that is one typo away; names and code stay."""
    temperature: Annotated[float, Field(ge=0.001, le=100)] = 1.0
    """With `method: sampling`: divisor of the logits; below 1, probable tokens become more probable."""
    top_k: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    """With `method: sampling`: sample from the k most probable tokens; 0: from all."""
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    """With `method: sampling`: sample from the fewest tokens whose probabilities sum to `top_p`; 1: from all."""
    seed: Seed = 1
    """Seed of sampling; in float32, the same text and seed give the same translation in any batch."""
    batch_size: PositiveInt = 64
    """Largest number of sentences in a batch; fewer if they are long."""
    precision: Literal["float32", "bf16", "int8"] = "float32"
    """Precision of inference; `bf16` needs hardware support (`ctranslate2`: a GPU), `int8` the `ctranslate2` engine."""
    processes: Annotated[int, Field(ge=0, le=256)] = 0
    """Translating processes (CTranslate2: threads); 0: one per core (torch: one for short texts or on a GPU)."""


class EvaluationConfig(Section, effect=Effect.HARMLESS):
    """Evaluation on held-out text."""

    test_sets: Annotated[tuple[TestSetConfig, ...], Field(strict=False), Effect.TEXT] = ()
    """Additional test sets beside the test split; their text is removed from training and validation text."""
    metrics: Annotated[tuple[MetricName, ...], Field(strict=False, min_length=1)] = get_args(MetricName)
    """Metrics to compute; BLEU 13a on raw text is always added. A metric whose model is missing is skipped."""
    robustness: bool = False
    """Also translate and score each test set with noisy input: capitals, typos, no final punctuation and others."""
    bootstrap_samples: Annotated[int, Field(ge=40, le=1_000_000)] = 1000
    """Bootstrap resamples for 95% intervals (Koehn 2004), fewer if resamples × sentences exceed 5,000,000."""
    rare_below: PositiveInt = 5
    """A source-language word with fewer occurrences in training is rare; scores are shown by share of rare words."""
    comet_model: Place | None = None
    """Local COMET checkpoint (.ckpt); it must be trusted, since COMET unpickles it. `null`: no COMET."""

    @property
    def test_sources(self) -> tuple[SourceConfig, ...]:
        """The test sets as corpora with `use: test`."""
        return tuple(SourceConfig(**test_set.model_dump(), use="test") for test_set in self.test_sets)


class RunConfig(Section, effect=Effect.HARMLESS):
    """Folder, seed and hardware of a run."""

    directory: PathText
    """Run folder, relative to the current folder; prepared data is in `corpus.prepared_directory` instead."""
    seed: Annotated[Seed, Effect.BATCHES] = 1
    """Random seed of initialisation, dropout, batch order, augmentation and subword sampling."""
    device: Annotated[str, matching(DEVICE, DEVICE_NAMES), Effect.MACHINE] = "auto"
    """`cpu`, `mps` (Apple's GPU), `cuda:N` (one GPU), `cuda` (all GPUs in training); `auto`: a GPU if there is one."""
    threads: Annotated[int, Field(ge=0, le=1024), Effect.MACHINE] = 0
    """CPU threads (0: all cores), in training divided among processes; preparation has `corpus.workers`."""


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
            "`training.initialization: counts` cannot be combined with `model.tied_embeddings: all`, and needs a "
            f"`subword.vocabulary_size` of at most {MOST_COUNTED:,}",
            lambda c: (
                c.training.initialization == "random"
                or (c.subword.vocabulary_size <= MOST_COUNTED and c.model.tied_embeddings != "all")
            ),
        ),
        Rule(
            "`subword.placeholders` and `training.augmentation.copies` must both be 0 or both be above 0",
            lambda c: (c.subword.placeholders > 0) == (c.training.augmentation.copies > 0),
        ),
        Rule(
            "`training.augmentation.case` needs `subword.case: keep`",
            lambda c: not c.training.augmentation.case or not c.subword.folds_case,
        ),
        Rule(
            "`corpus.direction: fa-en` cannot be combined with changes to English: `training.augmentation.typos`, "
            "`training.augmentation.final_punctuation`, `training.augmentation.case` and `evaluation.robustness`",
            lambda c: c.corpus.direction == "en-fa" or not _changes_english(c),
        ),
        Rule(
            "`batching.max_length` must not exceed `model.max_positions`",
            lambda c: c.batching.max_length <= c.model.max_positions,
        ),
        Rule("`name` of a test set is already used by a source or an earlier test set; choose another", _names_taken),
    )

    run: RunConfig
    corpus: CorpusConfig
    subword: SubwordConfig = SubwordConfig()
    batching: BatchingConfig = BatchingConfig()
    model: ModelConfig = ModelConfig()
    training: TrainingConfig = TrainingConfig()
    search: SearchConfig = SearchConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
