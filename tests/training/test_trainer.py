"""The training loop: when it ends, its schedules, skipped updates, dropout that begins late, and sums of gradients."""

import dataclasses
import itertools
import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tiny_runs import assert_same_bits, final, run

from translator.checkpoint.files import load_checkpoint
from translator.checkpoint.state import step_folder
from translator.data import DataHandler, DataPosition, StepBatches, collate
from translator.errors import Interrupted, RunError
from translator.run.folder import RunFolder
from translator.run.signals import stop_on_signals
from translator.special_tokens import EOS, PAD, SOS
from translator.training.distributed import Distributed
from translator.training.optimizer import LossScale
from translator.training.precision import choose
from translator.training.step import StepResult, Updater
from translator.training.trainer import train_run

UPDATE = Updater.update


def test_early_stopping_ends_the_run(tiny: Any) -> None:
    overrides = ["training.max_steps=500", "training.validate_every=1", "training.early_stopping=3"]
    outcome = run(tiny(*overrides, "training.learning_rate=1e-12", "training.best_metric=chrf"))
    assert "training.early_stopping=3" in outcome.reason
    assert outcome.progress.step < 100


def clock() -> SimpleNamespace:
    """A clock for the trainer, whose monotonic time advances by one second with each reading."""
    return SimpleNamespace(monotonic=itertools.count(1.0).__next__, perf_counter=time.perf_counter)


MINUTES = [f"training.{key}" for key in ("schedule=cosine", "max_minutes=1", "max_steps=1000", "warmup_steps=0")]


def test_a_time_limit_that_cuts_off_a_cosine_by_steps_warns(
    tiny: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("translator.training.trainer.time", clock())
    outcome = run(tiny(*MINUTES))
    assert "training.max_minutes=1" in outcome.reason and 20 < outcome.progress.step < 100
    assert "learning rate at" in caplog.text


def test_a_cosine_by_minutes_ends_with_the_time_limit_even_when_resumed(
    tiny: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rates: list[float] = []
    dropping: list[bool] = []

    def noted(updater: Updater, *arguments: Any, **settings: Any) -> StepResult:
        result = UPDATE(updater, *arguments, **settings)
        rates.append(result.learning_rate)
        dropping.append(updater.model.training)
        if len(rates) == 20:
            os.kill(os.getpid(), signal.SIGTERM)
        return result

    left: list[float] = []
    monkeypatch.setattr("translator.training.monitor.end_within", lambda bar, seconds: left.append(seconds))
    monkeypatch.setattr(Updater, "update", noted)
    more = ("training.schedule_clock=minutes", "training.dropout_from=500", "training.log_every=1")
    config = tiny(*MINUTES, *more)
    monkeypatch.setattr("translator.training.trainer.time", clock())
    with pytest.raises(Interrupted), stop_on_signals() as stop:
        train_run(config, stop)
    monkeypatch.setattr("translator.training.trainer.time", clock())
    assert "training.max_minutes=1" in run(config).reason
    assert "learning rate at" not in caplog.text
    assert 25 < len(rates) < 100 and rates[-1] < 0.03 * rates[0]
    falls = [before - after for before, after in itertools.pairwise(rates)]
    assert min(falls) > 0.0
    assert falls[19] < 3 * falls[18], "the time of the first start counts, and that between the two does not"
    assert dropping == sorted(dropping) and 0.4 < sum(dropping) / len(dropping) < 0.6
    assert left[0] == 60.0 and 10.0 < left[1] < 50.0, "the bar shows what is left"
    events = EventAccumulator(str(RunFolder(Path(config.run.directory)).tensorboard_folder), {"scalars": 0})
    events.Reload()
    assert [event.value for event in events.Scalars("train/learning_rate")] == pytest.approx(rates)


def test_a_nonfinite_update_is_skipped_and_too_many_stop_the_run(
    tiny: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tiny("training.max_skipped_updates=2")
    skipped: list[int] = []

    def poisoned(updater: Updater, share: StepBatches, number: int, *rest: Any, **settings: Any) -> StepResult:
        before = [weight.detach().clone() for weight in updater.model.parameters()]
        with monkeypatch.context() as patch:
            if number in (3, 5, 9, 10):
                patch.setattr(updater.loss, "label_smoothing", float("nan"))
            result = UPDATE(updater, share, number, *rest, **settings)
        if not bool(result.finite):
            skipped.append(number)
            assert all(map(torch.equal, updater.model.parameters(), before))
        return result

    monkeypatch.setattr(Updater, "update", poisoned)
    with pytest.raises(RunError, match=r"2 updates in a row \(steps 9 to 10\) were skipped.*training\.learning_rate"):
        run(config)
    assert skipped == [3, 5, 9, 10], "skipped ones that are not in a row stop nothing"
    assert all(torch.isfinite(tensor).all() for tensor in final(config).values())
    saved = load_checkpoint(step_folder(tmp_path / "run" / "checkpoints", 8)).state.progress
    assert saved["skipped_updates"] == {"skipped": 2, "in_a_row": 0}
    assert (tmp_path / "run" / "stopped-batch.json").is_file()


def test_accumulated_batches_give_the_gradient_of_their_union(tiny: Any) -> None:
    """One step over three uneven batches has the gradient of one step over all their pairs at once."""
    config = tiny("batching.tokens_per_batch=64")
    data = DataHandler(config).prepare()
    sizes = data.subword.source.vocabulary_size, data.subword.target.vocabulary_size
    step = next(data.train_steps(DataPosition(), accumulation=3))
    assert len({batch.target_tokens for batch in step.batches}) > 1, "uneven batches, or a mean of means would pass"
    special = (PAD, SOS, EOS)
    sources = [[t for t in row.tolist() if t not in special] for batch in step.batches for row in batch.source]
    targets = [[t for t in row.tolist() if t not in special] for batch in step.batches for row in batch.labels]
    union = dataclasses.replace(step, batches=(collate(sources, targets, range(len(sources))),))

    def gradient(share: StepBatches) -> dict[str, torch.Tensor]:
        cpu = torch.device("cpu")
        torch.manual_seed(0)
        updater = Updater(config, sizes, cpu, choose(cpu, config), Distributed())
        updater.model.eval()
        updater.gradients(share)
        return {name: weight.grad for name, weight in updater.model.named_parameters() if weight.grad is not None}

    apart, together = gradient(step), gradient(union)
    for key, value in together.items():
        torch.testing.assert_close(apart[key], value, rtol=1e-5, atol=1e-6, msg=key)


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_half_precision_trains_with_float32_weights(tiny: Any, precision: str) -> None:
    assert run(tiny(f"training.precision={precision}")).progress.last_validation["loss"] < 5
    assert {tensor.dtype for tensor in final(tiny()).values()} == {torch.float32}


def test_an_overflow_in_fp16_is_skipped_and_counted(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(self: LossScale, device: torch.device) -> None:
        original(self, device)
        self.state["factor"] *= 2.0**40

    original = LossScale.__init__
    monkeypatch.setattr(LossScale, "__init__", start)
    outcome = run(tiny("training.precision=fp16", "training.max_skipped_updates=50", "training.max_steps=60"))
    assert 10 < outcome.progress.skipped_updates["skipped"] < 50
    assert outcome.progress.last_validation["loss"] < 5


def test_running_out_of_memory_names_the_keys_to_lower(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")

    monkeypatch.setattr(Updater, "gradients", full)
    with pytest.raises(RunError, match=r"memory ran out in an update of up to \d+ pairs of up to \d+ tokens") as caught:
        run(tiny())
    for key in ("batching.tokens_per_batch (now 200)", "training.accumulation_steps (now 1)"):
        assert key in str(caught.value)


def test_dropout_starts_at_the_configured_update_even_when_resumed(tiny: Any, tmp_path: Path) -> None:
    """A validation, which uses evaluation mode, and a checkpoint come after every second update."""

    def weights(name: str, dropout: float, *lengths: int) -> list[dict[str, torch.Tensor]]:
        rates = [f"model.{kind}dropout={dropout}" for kind in ("", "attention_", "feed_forward_")]
        every = ("training.validate_every=2", "training.checkpoint_every=2", "training.schedule=constant")
        for steps in lengths:
            config = tiny(f"run.directory={tmp_path}/{name}", f"training.max_steps={steps}", *every, *rates,
                          "training.dropout_from=5")  # fmt: skip
            run(config)
        return [load_checkpoint(step_folder(tmp_path / name / "checkpoints", 4)).model, final(config)]

    without, late, resumed = weights("without", 0.0, 5), weights("late", 0.3, 5), weights("resumed", 0.3, 3, 5)
    assert_same_bits(late[0], without[0])
    assert any(not torch.equal(weight, late[1][name]) for name, weight in without[1].items())
    assert_same_bits(resumed[1], late[1])
