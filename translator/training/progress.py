"""How far a run has come, and whether it is done, by its limits or by early stopping."""

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from translator.config import TrainingConfig


@dataclass
class TrainingProgress:
    """The numbers of a run that grow, saved in every checkpoint."""

    step: int = 0
    """Updates done."""
    target_tokens: int = 0
    """Real target tokens trained on."""
    seconds: float = 0.0
    """Time spent in training and validation, all sittings together."""
    sittings: int = 0
    """How often training was begun or resumed."""
    validated_step: int = 0
    """Step of the last validation."""
    best_score: float | None = None
    best_step: int | None = None
    validations_without_gain: int = 0
    """Validations in a row that brought no better score."""
    last_validation: dict[str, float] = field(default_factory=dict)
    """Loss, perplexity, BLEU and chrF of the last validation."""
    best_metric: str = ""
    """What `best_score` is a score of."""
    skipped_updates: dict[str, int] = field(default_factory=lambda: {"skipped": 0, "in_a_row": 0})
    """Counts of the guard against losses and gradients that are not finite."""
    loss_spikes: dict[str, Any] = field(default_factory=dict)
    """Running mean and deviation of the loss."""

    def note_validation(self, scores: dict[str, float], metric: str) -> bool:
        """Take in the scores of a validation at the present step; return whether `metric` is the best so far."""
        score = scores[metric]
        if metric != self.best_metric:  # scores of another metric cannot be compared
            self.best_metric, self.best_score, self.best_step, self.validations_without_gain = metric, None, None, 0
        sign = -1.0 if metric == "loss" else 1.0
        better = not math.isnan(score) and (self.best_score is None or sign * score > sign * self.best_score)
        if better:
            self.best_score, self.best_step = score, self.step
            self.validations_without_gain = 0
        else:
            self.validations_without_gain += 1
        self.validated_step = self.step
        self.last_validation = scores
        return better

    def finished(self, config: TrainingConfig) -> str | None:
        """Return why training is over, with the setting that would let it go on; None while it is not."""
        if self.step >= config.max_steps:
            return f"training.max_steps={config.max_steps} is reached"
        if config.max_minutes is not None and self.seconds >= 60 * config.max_minutes:
            return f"training.max_minutes={config.max_minutes:g} are used up"
        if config.early_stopping is not None and self.validations_without_gain >= config.early_stopping:
            metric, count = config.best_metric, self.validations_without_gain
            return (
                f"{metric} has not improved for {count} validations (training.early_stopping={config.early_stopping})"
            )
        return None

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as JSON values."""
        return asdict(self)
