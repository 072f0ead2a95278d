"""The progress of a run: counters and scores."""

import math
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field, with_config

from translator.core.loop import Progress
from translator.run.records import STRICT, WholeNumber

AnyNumber = Annotated[float, Field(allow_inf_nan=True)]  # a model can be too bad for a finite loss
UpdateAndLoss = Annotated[list[int | float], Field(min_length=2, max_length=2)]  # of a validation


@with_config(STRICT)
@dataclass
class TrainingProgress(Progress):
    """The counters and scores of a run, saved in every checkpoint."""

    seconds: Annotated[float, Field(ge=0)] = 0.0
    starts: WholeNumber = 0  # number of starts and restarts
    best_score: float | None = None
    best_step: WholeNumber | None = None
    last_validation: dict[str, AnyNumber] = field(default_factory=dict)
    validation_losses: list[UpdateAndLoss] = field(default_factory=list)
    best_metric: str = ""  # the metric of `best_score`
    skipped: WholeNumber = 0  # updates, in the whole run
    skipped_in_a_row: WholeNumber = 0  # until now

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
