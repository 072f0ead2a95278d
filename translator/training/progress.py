"""The progress of a run: counters and scores."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from translator.core.loop import Progress


def ranking_score(scores: Mapping[str, float], metric: str) -> float | None:
    """Return the score of a validation by which checkpoints are ranked, for which higher is better.

    A loss is negative. None: there is no finite score of `metric`.
    """
    score = scores.get(metric, math.nan)
    if not math.isfinite(score):
        return None
    return -score if metric == "loss" else score


@dataclass
class TrainingProgress(Progress):
    """The counters and scores of a run, saved in every checkpoint."""

    best_score: float | None = None  # by `ranking_score`
    last_validation: dict[str, float] = field(default_factory=dict)
    validation_losses: list[list[float]] = field(default_factory=list)
    """The update and the loss of each validation, which the page of an evaluation shows."""
    skipped: int = 0  # updates, in the whole run
    skipped_in_a_row: int = 0  # until now

    def note_validation(self, scores: dict[str, float], metric: str) -> bool:
        """Record the scores of a validation at the current step; return whether `metric` is the best so far.

        A validation lacks the score if no pair fits into a row. Then it is not the best, and does not count as one
        without a gain. A validation with a score that is not finite counts as one without a gain.
        """
        # 1. Whether the validation is a gain: training may stop after some validations without a gain.
        score = ranking_score(scores, metric)
        is_best = score is not None and (self.best_score is None or score > self.best_score)
        if is_best:
            self.best_score = score
            self.validations_without_gain = 0
        elif metric in scores:
            self.validations_without_gain += 1

        # 2. The scores of the validation.
        self.validated_step = self.step
        self.last_validation = scores
        loss = scores.get("loss", math.nan)
        if math.isfinite(loss):
            self.validation_losses.append([self.step, loss])
        return is_best
