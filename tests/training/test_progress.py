"""When a run has got better, and when it is done."""

from translator.config import TrainingConfig
from translator.training.progress import TrainingProgress


def scores(loss: float, chrf: float) -> dict[str, float]:
    return {"loss": loss, "perplexity": 2.0, "bleu": 1.0, "chrf": chrf}


def test_a_higher_chrf_is_better_and_a_lower_loss_is() -> None:
    for metric, sequence, expected in (
        ("chrf", [(3, 10), (2, 12), (1, 11)], [True, True, False]),
        ("loss", [(3, 10), (2, 12), (2, 11)], [True, True, False]),
    ):
        progress = TrainingProgress()
        found = []
        for step, (loss, chrf) in enumerate(sequence, start=1):
            progress.step = step
            found.append(progress.note_validation(scores(loss, chrf), metric))
        assert found == expected
        assert progress.best_step == 2
        assert progress.validations_without_gain == 1
        assert progress.validated_step == 3


def test_each_end_names_its_setting() -> None:
    settings = TrainingConfig(max_steps=10, max_minutes=2.0, early_stopping=3)
    assert TrainingProgress(step=9, seconds=119, validations_without_gain=2).finished(settings) is None
    assert "training.max_steps=10" in (TrainingProgress(step=10).finished(settings) or "")
    assert "training.max_minutes=2" in (TrainingProgress(seconds=120).finished(settings) or "")
    assert "training.early_stopping=3" in (TrainingProgress(validations_without_gain=3).finished(settings) or "")


def test_it_survives_json() -> None:
    progress = TrainingProgress(step=3, target_tokens=70, seconds=1.5, best_score=2.0, best_step=2)
    assert TrainingProgress(**progress.to_json()) == progress
