"""The training loop: when it ends, its schedules, skipped updates, and dropout that begins late."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.tiny_recipe import draw_nothing
from tests.support.tiny_runs import final, run, tiny_config
from tests.support.toy_corpora import letters, write_pairs
from translator.checkpoint.files import load_checkpoint
from translator.checkpoint.state import step_folder
from translator.core.update import Learner, StepResult
from translator.data import StepBatches
from translator.errors import RunError

UPDATE = Learner.update


def test_without_a_loss_a_run_still_scores_translations_and_says_that_it_chose_no_checkpoint(
    tiny: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Every validation pair is longer than a row."""
    long_pairs = [(" ".join(word * 9), word) for word in letters(5, seed=4)]
    write_pairs(tmp_path / "long.tsv", long_pairs)
    sources = [
        {"name": "toy", "path": f"{tmp_path}/toy.tsv", "use": "train"},
        {"name": "long", "path": f"{tmp_path}/long.tsv", "use": "validation"},
    ]
    config = tiny(
        f"corpus.sources={sources}",
        "training.max_steps=2",
        "training.validate_every=2",
        "training.best_metric=loss",
        "training.early_stopping=1",
    )
    outcome = run(config)
    assert outcome.progress.last_validation.keys() == {"bleu", "chrf"}
    assert "no validation has a finite loss, so `best` is step-000002" in caplog.text


# --- skipped updates ---


@dataclass
class Poisoned:
    """A run that ends after two skipped updates in a row: 3, 5, 9 and 10 have no finite loss."""

    folder: Path
    skipped: list[int] = field(default_factory=list)
    message: str = ""
    weights: dict[str, torch.Tensor] = field(default_factory=dict)  # of the last checkpoint


@pytest.fixture(scope="module")
def poisoned(tmp_path_factory: pytest.TempPathFactory) -> Poisoned:
    folder = tmp_path_factory.mktemp("poisoned")
    config = tiny_config(folder)
    poisoned = Poisoned(folder / "run")

    def update(learner: Learner, share: StepBatches, number: int, *others: Any, **settings: Any) -> StepResult:
        before = [weight.detach().clone() for weight in learner.loss.model.parameters()]
        with pytest.MonkeyPatch.context() as patch:
            if number in (3, 5, 9, 10):
                patch.setattr(learner.loss, "label_smoothing", float("nan"))
            result = UPDATE(learner, share, number, *others, **settings)
        if not bool(result.finite):
            poisoned.skipped.append(number)
            assert all(map(torch.equal, learner.loss.model.parameters(), before)), "a skipped update changes no weight"
        return result

    with pytest.MonkeyPatch.context() as patch:
        draw_nothing(patch)
        patch.setattr("translator.training.monitoring.monitor.MOST_SKIPPED", 2)
        patch.setattr(Learner, "update", update)
        with pytest.raises(RunError) as raised:
            run(config)
    poisoned.message = str(raised.value)
    poisoned.weights = final(config)
    return poisoned


def test_nonfinite_updates_are_skipped_until_too_many_are_in_a_row(poisoned: Poisoned) -> None:
    assert poisoned.skipped == [3, 5, 9, 10]
    assert "2 updates in a row (steps 9 to 10) were skipped" in poisoned.message


def test_weights_stay_finite_after_skipped_updates(poisoned: Poisoned) -> None:
    assert all(torch.isfinite(tensor).all() for tensor in poisoned.weights.values())


def test_a_checkpoint_counts_the_skipped_updates(poisoned: Poisoned) -> None:
    progress = load_checkpoint(step_folder(poisoned.folder / "checkpoints", 8)).state.progress
    assert (progress["skipped"], progress["skipped_in_a_row"]) == (2, 0)


def test_an_overflow_in_fp16_is_skipped_and_counted(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translator.speed.loss_scale.FIRST_FACTOR", 2.0**56)
    monkeypatch.setattr("translator.training.monitoring.monitor.MOST_SKIPPED", 50)
    outcome = run(tiny("training.precision=fp16", "training.max_steps=60"))
    assert 10 < outcome.progress.skipped < 50
    assert outcome.progress.last_validation["loss"] < 5


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_half_precision_trains_with_float32_weights(tiny: Any, precision: str) -> None:
    assert run(tiny(f"training.precision={precision}")).progress.last_validation["loss"] < 5
    assert {tensor.dtype for tensor in final(tiny()).values()} == {torch.float32}
