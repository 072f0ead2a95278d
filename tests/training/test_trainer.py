"""The training of a run: when it may begin, skipped updates, half precision, and validations without a loss."""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch

from tests.support.tiny_runs import final, run
from tests.support.toy_corpora import letters, write_pairs
from translator.checkpoint.files import load_checkpoint
from translator.checkpoint.state import step_folder
from translator.core.batch import StepBatches
from translator.core.update import Learner, StepResult
from translator.errors import RunError
from translator.run.files import hold_folder

UPDATE = Learner.update


def test_all_settings_may_change_before_the_first_checkpoint(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leftovers of a first attempt that died early must not affect the second."""
    with monkeypatch.context() as patch:
        patch.setattr(Learner, "update", Mock(side_effect=RuntimeError("killed")))
        with pytest.raises(RuntimeError, match="killed"):
            run(tiny())
    outcome = run(tiny("subword.vocabulary_size=20", "model.d_model=32", "training.max_steps=1"))
    assert outcome.scores, "the run evaluates with the subword models that it was trained with"


def test_a_folder_in_use_is_refused(tiny: Any, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with hold_folder(tmp_path / "run"), pytest.raises(RunError, match="another process uses"):
        run(tiny())


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("training.run_training.build_learner", r"does not fit into the free memory .* a smaller model"),
        ("core.update.Learner.update", r"memory ran out with batches of 200 .*Lower batching.tokens_per_batch"),
    ],
)
def test_a_lack_of_memory_names_what_to_change(
    tiny: Any, monkeypatch: pytest.MonkeyPatch, place: str, message: str
) -> None:
    monkeypatch.setattr(f"translator.{place}", Mock(side_effect=torch.OutOfMemoryError))
    with pytest.raises(RunError, match=message):
        run(tiny())


def test_without_a_loss_a_run_still_scores_translations_and_says_that_it_chose_no_checkpoint(
    tiny: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Every validation pair is longer than a row."""
    long_pairs = [(" ".join(word * 9), word) for word in letters(5, seed=4)]
    write_pairs(tmp_path / "long.tsv", long_pairs)
    long_source = {"name": "long", "path": f"{tmp_path}/long.tsv", "use": "validation"}
    limits = ("training.max_steps=2", "training.validate_every=2", "training.early_stopping=1")
    outcome = run(
        tiny("corpus.split.validation=0", f"corpus.sources.1={long_source}", "training.best_metric=loss", *limits)
    )
    assert outcome.progress.last_validation.keys() == {"bleu", "chrf"}
    assert "no validation has a finite loss, so `best` is step-000002" in caplog.text


# --- skipped updates ---


def test_nonfinite_updates_are_skipped_and_counted_until_too_many_are_in_a_row(
    tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skipped: list[int] = []

    def update(learner: Learner, share: StepBatches, number: int, seconds: float) -> StepResult:
        before = [weight.detach().clone() for weight in learner.loss.model.parameters()]
        learner.loss.label_smoothing = float("nan") if number in (3, 5, 9, 10) else 0.1
        result = UPDATE(learner, share, number, seconds)
        if not result.finite:
            skipped.append(number)
            assert all(map(torch.equal, learner.loss.model.parameters(), before)), "a skipped update changes no weight"
        return result

    monkeypatch.setattr("translator.training.monitoring.monitor.MOST_SKIPPED", 2)
    monkeypatch.setattr(Learner, "update", update)
    with pytest.raises(RunError, match=r"2 updates in a row \(steps 9 to 10\) were skipped"):
        run(tiny())
    assert skipped == [3, 5, 9, 10]

    checkpoint = load_checkpoint(step_folder(tmp_path / "run" / "checkpoints", 8))
    assert all(torch.isfinite(tensor).all() for tensor in checkpoint.model.values())
    progress = checkpoint.state.progress
    assert (progress["skipped"], progress["skipped_in_a_row"]) == (2, 0)


def test_half_precision_trains_with_float32_weights(tiny: Any) -> None:
    outcome = run(tiny("training.precision=bf16", "training.max_steps=6", "corpus.split.test=0"))
    assert outcome.progress.last_validation["loss"] < 5
    assert {tensor.dtype for tensor in final(tiny()).values()} == {torch.float32}


def test_an_overflow_in_fp16_is_skipped_and_counted(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translator.speed.loss_scale.FIRST_FACTOR", 2.0**24)
    outcome = run(tiny("training.precision=fp16", "corpus.split.test=0"))
    assert 4 < outcome.progress.skipped < 10
    assert outcome.progress.last_validation["loss"] < 5
