"""The progress of a run: counters and scores."""

import math
from dataclasses import dataclass, field

from translator.config import TrainingConfig
from translator.training.health import LossSpikes


@dataclass
class TrainingProgress:
    """The counters and scores of a run, saved in every checkpoint."""

    step: int = 0
    target_tokens: int = 0
    seconds: float = 0.0  # of training and validation, over all restarts
    starts: int = 0  # number of starts and restarts
    validated_step: int = 0  # step of the last validation
    best_score: float | None = None
    best_step: int | None = None
    validations_without_gain: int = 0
    last_validation: dict[str, float] = field(default_factory=dict)
    validation_losses: list[list[float]] = field(default_factory=list)  # update and loss of each validation
    best_metric: str = ""  # the metric of `best_score`
    skipped_updates: dict[str, int] = field(default_factory=lambda: {"skipped": 0, "in_a_row": 0})
    loss_spikes: LossSpikes = field(default_factory=LossSpikes)

    def note_validation(self, scores: dict[str, float], metric: str) -> bool:
        """Record the scores of a validation at the current step; return whether `metric` is the best so far.

        A validation without this score, because no pair fits into a row, is neither better nor without a gain.
        """
        if metric != self.best_metric:  # scores of another metric cannot be compared
            self.best_metric = metric
            self.best_score = None
            self.best_step = None
            self.validations_without_gain = 0
        score = scores.get(metric)
        better = score is not None and self._is_better(score)
        if better:
            self.best_score = score
            self.best_step = self.step
            self.validations_without_gain = 0
        elif score is not None:
            self.validations_without_gain += 1
        self.validated_step = self.step
        self.last_validation = scores
        loss = scores.get("loss", math.nan)
        if math.isfinite(loss):
            self.validation_losses.append([self.step, loss])
        return better

    def _is_better(self, score: float) -> bool:
        if not math.isfinite(score):
            return False
        if self.best_score is None:
            return True
        if self.best_metric == "loss":
            return score < self.best_score
        return score > self.best_score

    def without_choice(self, metric: str) -> str | None:
        """Return why no checkpoint was chosen by its score of `metric`; None if one was."""
        if self.best_score is not None:
            return None
        if not self.last_validation:
            return "there is no validation text (corpus.split.validation)"
        if metric not in self.last_validation:
            return f"no validation pair has a {metric}: all are longer than batching.max_length"
        return f"the {metric} was not finite at any validation"

    def finished(self, config: TrainingConfig) -> str | None:
        """Return why training has ended, with the setting that would let it continue, or None."""
        return config.finished(self.step, self.seconds, self.validations_without_gain)
