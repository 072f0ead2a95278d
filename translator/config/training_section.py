"""The `training` section of a recipe: optimisation, validation, checkpoints, and how the work is done."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from translator.config import rules
from translator.config.section import Count, Fraction, PathText, PositiveInt, Rule, Section


class TrainingConfig(Section):
    """Optimisation, validation and checkpoints."""

    rules: ClassVar[tuple[Rule, ...]] = (rules.minutes_to_go_by,)

    max_steps: PositiveInt = 100_000
    """Updates of the weights."""
    max_minutes: Annotated[float, Field(gt=0, le=10_000_000)] | None = None
    """Stop after so many minutes of training, all sittings of the run together."""
    accumulation_steps: Annotated[int, Field(ge=1, le=10_000)] = 1
    """Batches whose gradients are added up for one update, on however many processes."""
    processes: Literal["auto"] | Annotated[int, Field(ge=1, le=1024)] = "auto"
    """Processes that share each update on this machine; `auto` takes one for each GPU, and one on a CPU."""
    initialize_from: PathText | None = None
    """Run folder, or checkpoint folder, whose weights a new run starts from."""
    optimizer: Literal["adamw", "muon"] = "adamw"
    """`muon` updates the blocks' matrices by Muon and all else by AdamW: each update teaches more, and takes longer."""
    learning_rate: Annotated[float, Field(gt=0, le=100)] = 7e-4
    """Peak learning rate, reached at the end of the warm-up."""
    schedule: Literal["inverse_sqrt", "cosine", "constant"] = "inverse_sqrt"
    """What follows the warm-up; `cosine` falls to a hundredth of the peak at `max_steps`."""
    schedule_clock: Literal["steps", "minutes"] = "steps"
    """`minutes`: if they are over first, cosine and `dropout_from` fit `max_minutes`; no run repeats bit for bit."""
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
    """First update with dropout and R-Drop, in the plan that `schedule_clock` reads; late, if training is short."""
    r_drop: Annotated[float, Field(ge=0, le=100)] = 0.0
    """Weight of the divergence between two passes with other dropout (Liang et al. 2021); 0 is off."""
    gradient_clip: Annotated[float, Field(gt=0, le=1_000_000_000)] | None = 1.0
    """Largest L2 norm of the whole gradient."""
    max_skipped_updates: PositiveInt = 10
    """Updates in a row that are skipped because loss or gradient is not finite, before the run stops."""
    ema_decay: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Keep an exponential moving average of the weights beside them, and validate and ship that; 0.999, say."""
    precision: Literal["auto", "float32", "bf16"] = "auto"
    """`bf16` computes under autocast with float32 weights; `auto` does so where it is known to pay, tried first."""
    attention: Literal["auto", "fused", "plain"] = "auto"
    """Kernel of attention: torch's fused one, or plain products and a softmax; `auto` chooses by device and shape."""
    compile: Literal["auto", "never", "always"] = "auto"
    """`torch.compile` the step's arithmetic; `auto` does so where it is known to pay, on a GPU in a long run."""
    matmul_precision: Literal["auto", "highest", "high", "medium"] = "auto"
    """`torch.set_float32_matmul_precision`: how much float32 products may round inside; `auto` rounds if it pays."""
    log_every: PositiveInt = 50
    """Steps between two rows in TensorBoard."""
    validate_every: PositiveInt = 1000
    """Steps between two validations."""
    validation_sentences: PositiveInt = 500
    """Sentences translated and scored at each validation (the loss takes them all)."""
    sample_translations: Count = 5
    """Of these, how many are shown in TensorBoard."""
    checkpoint_every: PositiveInt = 1000
    """Steps between two checkpoints; a validation always makes one."""
    keep_checkpoints: PositiveInt = 3
    """Newest checkpoints kept."""
    keep_best: PositiveInt = 1
    """Best checkpoints kept besides, by `best_metric`."""
    save_in_background: bool = True
    """Write checkpoints while training goes on; a stop, and the end, wait for them."""
    best_metric: Literal["loss", "bleu", "chrf"] = "chrf"
    """Validation score that names the best checkpoint."""
    early_stopping: PositiveInt | None = None
    """Stop after so many validations in a row without a better `best_metric`."""
