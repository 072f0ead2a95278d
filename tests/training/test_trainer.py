"""The training loop: when it ends, its schedules, skipped updates, and dropout that begins late."""

import itertools
import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.support.event_files import curve
from tests.support.tiny_recipe import draw_nothing
from tests.support.tiny_runs import assert_same_bits, final, run, tiny_config
from tests.support.toy_corpora import letters, write_pairs
from translator.checkpoint.files import load_checkpoint
from translator.checkpoint.state import step_folder
from translator.core.update import Learner, StepResult
from translator.data import StepBatches
from translator.errors import Interrupted, RunError
from translator.run.signals import stop_on_signals
from translator.training.run_training import TrainingOutcome, train_run

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


# --- schedules by time ---


def clock() -> SimpleNamespace:
    """A clock for the trainer, whose monotonic time advances by one second with each reading."""
    return SimpleNamespace(monotonic=itertools.count(1.0).__next__, perf_counter=time.perf_counter)


ONE_MINUTE = (
    "training.schedule=cosine",
    "training.max_minutes=1",
    "training.max_steps=1000",
    "training.warmup_steps=0",
)


@dataclass
class Timed:
    """What a run with a cosine by minutes does; it stops after 20 updates, and resumes."""

    rates: list[float] = field(default_factory=list)  # learning rate of each update
    drops: list[bool] = field(default_factory=list)  # whether the update had dropout
    seconds_on_bar: list[float] = field(default_factory=list)  # that the progress bar expects at each start
    outcome: TrainingOutcome | None = None  # of the second start


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> Timed:
    timed = Timed()

    def noted(learner: Learner, *arguments: Any, **settings: Any) -> StepResult:
        result = UPDATE(learner, *arguments, **settings)
        timed.rates.append(result.learning_rate)
        timed.drops.append(learner.loss.model.training)
        if len(timed.rates) == 20:
            os.kill(os.getpid(), signal.SIGTERM)
        return result

    def note_end(bar: object, seconds: float) -> None:
        timed.seconds_on_bar.append(seconds)

    config = tiny_config(
        tmp_path_factory.mktemp("timed"),
        *ONE_MINUTE,
        "training.schedule_clock=minutes",
        "training.dropout_from=500",
        "training.log_every=1",
    )
    with pytest.MonkeyPatch.context() as patch:
        draw_nothing(patch)
        patch.setattr("translator.training.monitoring.monitor.end_within", note_end)
        patch.setattr(Learner, "update", noted)
        patch.setattr("translator.core.loop.time", clock())
        with pytest.raises(Interrupted), stop_on_signals() as stop:
            train_run(config, stop)
        patch.setattr("translator.core.loop.time", clock())
        timed.outcome = run(config)
    return timed


def test_a_cosine_by_minutes_ends_with_the_time_limit(timed: Timed) -> None:
    assert timed.outcome is not None
    assert "training.max_minutes=1" in timed.outcome.reason
    assert 25 < len(timed.rates) < 100
    assert timed.rates[-1] < 0.03 * timed.rates[0]


def test_a_cosine_by_minutes_goes_on_smoothly_after_a_stop(timed: Timed) -> None:
    """The time of the first start counts, and that between the two does not."""
    falls = [before - after for before, after in itertools.pairwise(timed.rates)]
    assert min(falls) > 0.0
    assert falls[19] < 3 * falls[18]


def test_dropout_by_minutes_begins_after_its_share_of_the_time(timed: Timed) -> None:
    assert timed.drops == sorted(timed.drops)
    assert 0.4 < sum(timed.drops) / len(timed.drops) < 0.6


def test_the_progress_bar_shows_the_time_that_remains(timed: Timed) -> None:
    assert timed.seconds_on_bar[0] == 60.0
    assert 10.0 < timed.seconds_on_bar[1] < 50.0


def test_the_learning_rate_of_each_update_is_shown(timed: Timed) -> None:
    assert timed.outcome is not None
    points = curve(timed.outcome.run.tensorboard_folder, "train/learning_rate")
    assert [rate for _, rate in points] == pytest.approx(timed.rates)


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


# --- late dropout ---


def weights_with_dropout(tiny: Any, directory: Path, dropout: float, *max_steps: int) -> list[dict[str, torch.Tensor]]:
    """Return the weights after update 4 and at the end; the run resumes for each further number of `max_steps`.

    A validation, which uses evaluation mode, and a checkpoint come after every second update.
    """
    overrides = [
        f"run.directory={directory}",
        "training.validate_every=2",
        "training.checkpoint_every=2",
        "training.schedule=constant",
        f"model.dropout={dropout}",
        f"model.attention_dropout={dropout}",
        f"model.feed_forward_dropout={dropout}",
        "training.dropout_from=5",
    ]
    for steps in max_steps:
        config = tiny(*overrides, f"training.max_steps={steps}")
        run(config)
    return [load_checkpoint(step_folder(directory / "checkpoints", 4)).model, final(config)]


def test_dropout_starts_at_the_configured_update(tiny: Any, tmp_path: Path) -> None:
    plain_before, plain_after = weights_with_dropout(tiny, tmp_path / "without", 0.0, 5)
    before, after = weights_with_dropout(tiny, tmp_path / "late", 0.3, 5)
    assert_same_bits(before, plain_before)
    assert any(not torch.equal(weight, plain_after[name]) for name, weight in after.items())


def test_late_dropout_is_the_same_after_a_restart(tiny: Any, tmp_path: Path) -> None:
    _, uninterrupted = weights_with_dropout(tiny, tmp_path / "late", 0.3, 5)
    _, resumed = weights_with_dropout(tiny, tmp_path / "resumed", 0.3, 3, 5)
    assert_same_bits(resumed, uninterrupted)
