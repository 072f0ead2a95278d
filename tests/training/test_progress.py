"""The best validation of a run."""

import math
from pathlib import Path

import pytest
import yaml

from translator.training.progress import TrainingProgress

EXAMPLES = yaml.safe_load(Path(__file__).with_name("examples.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("metric", "scores", "best_numbers", "without_gain"), EXAMPLES["validations"])
def test_a_higher_chrf_or_a_lower_loss_is_the_best(
    metric: str, scores: list[float | None], best_numbers: list[int], without_gain: int
) -> None:
    progress = TrainingProgress()
    for progress.step, score in enumerate(scores):
        is_best = progress.note_validation({} if score is None else {metric: score}, metric)
        assert is_best == (progress.step in best_numbers)
    best = scores[best_numbers[-1]]
    assert best is not None
    assert progress.best_score == (-best if metric == "loss" else best)
    assert progress.validations_without_gain == without_gain
    assert progress.validated_step == len(scores) - 1


def test_infinite_losses_are_left_out_of_the_curve() -> None:
    progress = TrainingProgress()
    for progress.step, loss in enumerate((3.0, math.inf, math.nan, 2.0)):
        progress.note_validation({"loss": loss}, "loss")
    assert progress.validation_losses == [[0, 3.0], [3, 2.0]]
