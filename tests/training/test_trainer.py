"""The training loop: its ends, its arithmetic, and a loss that breaks."""

import dataclasses
import itertools
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tiny_runs import final, run

from translator.data import DataHandler, DataPosition, StepBatches, collate
from translator.device import Arithmetic
from translator.errors import Interrupted, RunError
from translator.model import Transformer
from translator.run_folder import RunFolder
from translator.signals import stop_on_signals
from translator.special_tokens import EOS, PAD, SOS
from translator.training.gradients import Gradients
from translator.training.prefetch import Placing
from translator.training.ranks import Ranks
from translator.training.run import train_run
from translator.training.step import take_step
from translator.training.teacher_forcing import TeacherForcing


def test_early_stopping_ends_the_run(tiny: Any) -> None:
    overrides = ["training.max_steps=500", "training.validate_every=1", "training.early_stopping=3"]
    outcome = run(tiny(*overrides, "training.learning_rate=1e-12", "training.best_metric=chrf"))
    assert "training.early_stopping=3" in outcome.reason
    assert outcome.progress.step < 100


def test_a_time_limit_ends_the_run(tiny: Any) -> None:
    outcome = run(tiny("training.max_steps=100000", "training.max_minutes=0.01"))
    assert "training.max_minutes=0.01" in outcome.reason
    assert outcome.progress.step >= 1


class Clock:
    """Time as the trainer sees it: a second between any two looks at the monotonic clock."""

    def __init__(self) -> None:
        self._now = 0.0

    def monotonic(self) -> float:
        self._now += 1.0
        return self._now

    perf_counter = staticmethod(time.perf_counter)


@pytest.mark.parametrize("clock", ["steps", "minutes"])
def test_the_cosine_ends_with_the_minutes_if_asked_to(
    clock: str, tiny: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rates: list[float] = []
    dropping: list[bool] = []

    def noted(*arguments: Any) -> Any:
        rates.append(arguments[4])
        dropping.append(arguments[0].learner.training)
        return take_step(*arguments)

    monkeypatch.setattr("translator.training.engine.take_step", noted)
    monkeypatch.setattr("translator.training.trainer.time", Clock())
    overrides = ["schedule=cosine", "max_minutes=1", "max_steps=1000", "warmup_steps=2", "dropout_from=500"]
    overrides.append(f"schedule_clock={clock}")
    with caplog.at_level("WARNING", "translator"):
        outcome = run(tiny(*(f"training.{override}" for override in overrides)))
    assert "training.max_minutes=1" in outcome.reason
    assert 20 < outcome.progress.step == len(rates) < 100
    said = "learning rate still at" in caplog.text
    if clock == "minutes":
        assert rates[-1] < 0.03 * max(rates)
        assert dropping == sorted(dropping)
        assert 0.4 < sum(dropping) / len(dropping) < 0.6
        assert not said
    else:
        assert rates[-1] > 0.98 * max(rates)
        assert not any(dropping)
        assert said


def test_a_cosine_by_minutes_goes_on_where_it_was_stopped_and_is_told_as_it_is(
    tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates: list[float] = []

    def noted(*arguments: Any) -> Any:
        rates.append(arguments[4])
        if len(rates) == 20:
            os.kill(os.getpid(), signal.SIGTERM)
        return take_step(*arguments)

    told: list[float] = []
    monkeypatch.setattr("translator.training.observer.end_within", lambda bar, seconds: told.append(seconds))
    monkeypatch.setattr("translator.training.engine.take_step", noted)
    settings = ("schedule=cosine", "max_minutes=1", "max_steps=1000", "warmup_steps=0", "schedule_clock=minutes")
    config = tiny(*(f"training.{setting}" for setting in settings), "training.log_every=1")
    monkeypatch.setattr("translator.training.trainer.time", Clock())
    with pytest.raises(Interrupted), stop_on_signals() as stop:
        train_run(config, stop)
    monkeypatch.setattr("translator.training.trainer.time", Clock())
    run(config)
    assert len(rates) > 25
    falls = [before - after for before, after in itertools.pairwise(rates)]
    assert min(falls) > 0.0
    assert falls[19] < 3 * falls[18], "the time of the first sitting counts, and that between the two does not"
    assert told[0] == 60.0 and 10.0 < told[1] < 50.0, "the bar is told what is left"
    events = EventAccumulator(str(RunFolder(Path(config.run.directory)).tensorboard_folder), {"scalars": 0})
    events.Reload()
    assert [event.value for event in events.Scalars("train/learning_rate")] == pytest.approx(rates)


def test_updates_that_are_not_finite_are_skipped_and_too_many_stop_the_run(
    tiny: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tiny("training.max_skipped_updates=2")

    def poisoned(gradients: Gradients, *arguments: Any) -> object:
        if arguments[2] >= 9:
            with torch.no_grad():
                next(gradients.learner.parameters()).fill_(float("nan"))
        return take_step(gradients, *arguments)

    monkeypatch.setattr("translator.training.engine.take_step", poisoned)
    with pytest.raises(RunError, match=r"2 updates in a row \(steps 9 to 10\) were skipped.*training\.learning_rate"):
        run(config)
    saved = final(config)
    assert all(torch.isfinite(tensor).all() for tensor in saved.values())
    assert (tmp_path / "run" / "stopped-batch" / "step.json").is_file()


def test_one_bad_update_is_skipped_and_the_run_goes_on(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny()
    before: dict[str, torch.Tensor] = {}

    def poisoned(gradients: Gradients, *arguments: Any) -> Any:
        if arguments[2] != 9:
            return take_step(gradients, *arguments)
        weights = {name: weight.detach().clone() for name, weight in gradients.learner.named_parameters()}
        with monkeypatch.context() as patch:
            patch.setattr(gradients.learner, "label_smoothing", float("nan"))
            result = take_step(gradients, *arguments)
        before.update(weights)
        assert not bool(result.finite)
        for name, weight in gradients.learner.named_parameters():
            assert torch.equal(weight, weights[name]), name
        return result

    monkeypatch.setattr("translator.training.engine.take_step", poisoned)
    outcome = run(config)
    assert before and outcome.progress.step == 12
    assert outcome.progress.skipped_updates == {"skipped": 1, "in_a_row": 0}


def test_accumulated_batches_give_the_gradient_of_their_union(tiny: Any) -> None:
    """One step over three uneven batches has the gradient of one step over all their pairs at once."""
    config = tiny("batching.tokens_per_batch=64")
    data = DataHandler(config)
    sizes = data.subword.source.vocabulary_size, data.subword.target.vocabulary_size
    step = next(data.train_steps(DataPosition(), accumulation=3))
    assert len({batch.target_tokens for batch in step.batches}) > 1, "uneven batches, or a mean of means would pass"
    special = (PAD, SOS, EOS)
    sources = [[t for t in row.tolist() if t not in special] for batch in step.batches for row in batch.source]
    targets = [[t for t in row.tolist() if t not in special] for batch in step.batches for row in batch.labels]
    union = dataclasses.replace(step, batches=(collate(sources, targets, range(len(sources))),))

    def gradient(share: StepBatches) -> dict[str, torch.Tensor]:
        torch.manual_seed(0)
        model = Transformer(config.model, *sizes).eval()
        cpu = torch.device("cpu")
        learner = TeacherForcing(model, 0.1, 0.0, packed=True)
        gradients = Gradients(learner, Arithmetic(cpu, "float32"), Ranks.alone(), Placing(cpu))
        gradients.compute(Placing(cpu).step(share), lambda: None)
        return {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}

    apart, together = gradient(step), gradient(union)
    for key, value in together.items():
        torch.testing.assert_close(apart[key], value, rtol=1e-5, atol=1e-6, msg=key)


def test_bf16_autocast_trains_with_float32_weights(tiny: Any) -> None:
    outcome = run(tiny("training.precision=bf16"))
    assert outcome.progress.last_validation["loss"] < 5
    assert {tensor.dtype for tensor in final(tiny()).values()} == {torch.float32}
