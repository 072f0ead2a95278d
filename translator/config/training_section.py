"""The `training` section of a recipe: optimisation, augmentation, validation and checkpoints."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from translator.config.keys import Count, Effect, Fraction, Place, PositiveInt, Section, Share, rule
from translator.core.loop import LoopSettings, Progress, stopping

if TYPE_CHECKING:  # they import torch
    from translator.core.optimizer import OptimizerSettings, ScheduleSettings


class AugmentationConfig(Section, effect=Effect.RESULT):
    """Data augmentation: shares of the training pairs to change, drawn again in each epoch."""

    typos: Share = 0.0
    """Share of pairs whose English gets typos, in a fifth of the words of four or more letters."""
    final_punctuation: Share = 0.0
    """Share of pairs whose English loses its final punctuation, so that the model learns to add it."""
    copies: Share = 0.0
    """Share of pairs where `subword.placeholders` replace 1-2 Latin words of both sides, or are added if none."""


class TrainingConfig(Section, effect=Effect.RESULT):
    """Optimisation, validation and checkpoints."""

    # --- length of training, and size of an update ---
    max_steps: Annotated[PositiveInt, Effect.FREE] = 100_000
    """Optimizer updates after which training ends, if no other limit ends it first; `cosine` decays until here."""
    max_minutes: Annotated[Annotated[float, Field(gt=0, le=10_000_000)] | None, Effect.FREE] = None
    """Stop after this many minutes of training, summed over all restarts of the run; `null`: no limit."""
    accumulation_steps: Annotated[int, Field(ge=1, le=10_000)] = 1
    """Gradient accumulation: batches per update over all processes, which split the rows."""
    processes: Annotated[Literal["auto"] | Annotated[int, Field(ge=1, le=64)], Effect.FREE] = "auto"
    """Data-parallel processes on this machine, which divide each update; `auto`: one per GPU, or one on a CPU."""
    gradient_exchange: Literal["float32", "bf16"] = "float32"
    """Format in which processes send each other gradients; `bf16` halves the bytes for a slow link, and rounds them."""
    # --- the first weights ---
    initialization: Annotated[Literal["random", "counts"], Effect.FREE] = "random"
    """Initial weights; `counts`: from word neighbours and word translations counted in the training text."""
    initialize_from: Annotated[Place | None, Effect.FREE] = None
    """Run folder (its best checkpoint) or checkpoint folder; weights that fit initialize a new run; `null`: none."""
    # --- optimizer and learning rate ---
    optimizer: Annotated[Literal["adamw", "muon"], Effect.REFUSED] = "adamw"
    """`muon`: Muon for matrices of layers, AdamW for the rest, same `learning_rate`; updates gain more, take longer."""
    learning_rate: Annotated[float, Field(gt=0, le=100)] = 7e-4
    """Peak learning rate, reached at the end of the warm-up."""
    schedule: Literal["inverse_sqrt", "cosine", "constant"] = "inverse_sqrt"
    """After warm-up: `inverse_sqrt` peak · √(`warmup_steps` / update), `cosine` to 1% of the peak at `max_steps`."""
    schedule_clock: Literal["steps", "minutes"] = "steps"
    """`minutes`: if the machine is slow, `cosine` and `dropout_from` follow `max_minutes`; not bit-reproducible."""
    warmup_steps: Count = 4000
    """Linear warm-up of the learning rate, in updates; 0: none."""
    beta2: Fraction = 0.98
    """Decay rate of AdamW's second moment."""
    weight_decay: Annotated[float, Field(ge=0, le=100)] = 0.0
    """Decoupled weight decay of AdamW and Muon, on matrices only."""
    # --- regularization ---
    label_smoothing: Fraction = 0.1
    """Label smoothing: probability mass of each label that is spread over the vocabulary."""
    dropout_from: Count = 0
    """Update at which dropout and R-Drop start, scaled by `schedule_clock`; a late start helps short runs."""
    augmentation: AugmentationConfig = AugmentationConfig()
    r_drop: Annotated[float, Field(ge=0, le=100)] = 0.0
    """R-Drop: weight of the KL divergence between two passes with different dropout (Liang et al. 2021); 0: off."""
    # --- stability ---
    gradient_clip: Annotated[float, Field(gt=0, le=1_000_000_000)] | None = 1.0
    """Clip the L2 norm of the gradient of all weights to this value; `null`: no clipping."""
    ema_decay: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Decay of an exponential moving average of the weights for validation and export, such as 0.999; `null`: off."""
    # --- speed: arithmetic and compiling ---
    precision: Literal["auto", "float32", "bf16", "fp16"] = "auto"
    """`float32` (in full, also on a GPU), or autocast to `bf16` or `fp16` (with loss scaling); `auto`: by hardware."""
    compile: Literal["auto", "never", "always"] = "auto"
    """`torch.compile`: `always`; `auto`: on a CUDA GPU, if `max_steps` >= 2,000; `never`: also no CUDA graph."""
    # --- validation and checkpoints ---
    log_every: Annotated[PositiveInt, Effect.FREE] = 50
    """Write training metrics to TensorBoard every N updates, and at each checkpoint and validation."""
    validate_every: Annotated[PositiveInt, Effect.FREE] = 1000
    """Validate every N updates, and at the end."""
    validation_sentences: Annotated[PositiveInt, Effect.FREE] = 500
    """Number of sentences to translate and score at each validation; the loss uses all within `max_length`."""
    checkpoint_every: Annotated[PositiveInt, Effect.FREE] = 1000
    """Save a checkpoint every N updates; every validation also saves one."""
    keep_checkpoints: Annotated[PositiveInt, Effect.FREE] = 3
    """Number of newest checkpoints to keep, besides the `keep_best` best ones; older ones are deleted."""
    keep_best: Annotated[PositiveInt, Effect.FREE] = 1
    """Number of best checkpoints, ranked by `best_metric`, to keep besides the newest `keep_checkpoints`."""
    best_metric: Annotated[Literal["loss", "bleu", "chrf"], Effect.REFUSED] = "chrf"
    """Validation score that selects the best checkpoint."""
    early_stopping: Annotated[PositiveInt | None, Effect.FREE] = None
    """Stop after this many consecutive validations without a better `best_metric`; `null`: never."""

    @rule("`schedule_clock: minutes` needs `schedule: cosine` and `max_minutes`")
    def _clock_has_an_end(self) -> bool:
        """A schedule by time decays until the time limit."""
        if self.schedule_clock == "steps":
            return True
        return self.schedule_ends and self.max_minutes is not None

    @rule("`schedule: inverse_sqrt` needs `warmup_steps` above 0")
    def _root_has_a_warm_up(self) -> bool:
        """The inverse square root is scaled by the length of the warm-up."""
        return self.schedule != "inverse_sqrt" or self.warmup_steps > 0

    @property
    def schedule_ends(self) -> bool:
        """Whether the learning rate decays to an end at `max_steps`, which then decides every rate before it."""
        return self.schedule == "cosine"

    @property
    def schedule_settings(self) -> "ScheduleSettings":
        """The settings of the core's learning rate."""
        from translator.core.optimizer import ScheduleSettings

        return ScheduleSettings(
            learning_rate=self.learning_rate,
            schedule=self.schedule,
            warmup_steps=self.warmup_steps,
            max_steps=self.max_steps,
            dropout_from=self.dropout_from,
            minutes=self.max_minutes if self.schedule_clock == "minutes" else None,
        )

    @property
    def optimizer_settings(self) -> "OptimizerSettings":
        """The settings of the core's optimizer."""
        from translator.core.optimizer import OptimizerSettings

        return OptimizerSettings(
            beta2=self.beta2,
            weight_decay=self.weight_decay,
        )

    @property
    def loop_settings(self) -> LoopSettings:
        """The settings of the core's loop."""
        return LoopSettings(
            max_steps=self.max_steps,
            save_every=self.checkpoint_every,
            validate_every=self.validate_every,
            max_minutes=self.max_minutes,
            early_stopping=self.early_stopping,
        )

    def finished(self, progress: Progress) -> str | None:
        """Return why a training ends at `progress`, with the key to change; None if it continues."""
        limit = stopping(progress, self.loop_settings)
        if limit == "max_steps":
            return f"training.max_steps={self.max_steps} is reached"
        if limit == "max_minutes":
            return f"training.max_minutes={self.max_minutes:g} is reached"
        if limit == "early_stopping":
            setting = f"(training.early_stopping={self.early_stopping})"
            return f"{self.best_metric} has not improved for {progress.validations_without_gain} validations {setting}"
        return None
