"""The best validation of a run, and when training ends."""

import math

import pytest

from translator.training.progress import TrainingProgress


def note_all(progress: TrainingProgress, metric: str, *scores: float) -> list[bool]:
    """Note one validation for each score, at steps 1, 2, 3 …; return whether each was the best so far."""
    outcomes = []
    for step, score in enumerate(scores, start=1):
        progress.step = step
        outcomes.append(progress.note_validation({"loss": 1.0, metric: score}, metric))
    return outcomes


@pytest.mark.parametrize(("metric", "scores"), [("chrf", (10, 12, 11)), ("loss", (3, 2, 2))])
def test_a_higher_chrf_or_a_lower_loss_counts_as_better(metric: str, scores: tuple[float, ...]) -> None:
    progress = TrainingProgress()
    assert note_all(progress, metric, *scores) == [True, True, False]
    assert progress.best_score == scores[1]
    assert progress.validations_without_gain == 1
    assert progress.validated_step == 3


def test_a_score_that_is_not_a_number_is_never_the_best() -> None:
    progress = TrainingProgress()
    assert note_all(progress, "chrf", math.nan, 5.0, math.nan) == [False, True, False]
    assert progress.best_score == 5.0


def test_a_validation_without_the_score_is_no_validation_without_gain() -> None:
    """No pair fits into a row, so there is no loss, and early stopping has nothing to compare."""
    progress = TrainingProgress(step=1)
    assert not progress.note_validation({"chrf": 5.0}, "loss")
    assert progress.validations_without_gain == 0


def test_infinite_losses_are_left_out_of_the_curve() -> None:
    progress = TrainingProgress()
    note_all(progress, "loss", 3.0, math.inf, math.nan, 2.0)
    assert progress.validation_losses == [[1, 3.0], [4, 2.0]]
