"""The training loop: what happens in which order, what ends it, and where a restart continues."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.support.optimizer_steps import continue_from, moments_of
from tests.support.toy_training import START, TASKS, step_of, toy_learner, toy_pairs, toy_steps
from translator.core.batch import StepBatches, collate_rows
from translator.core.loop import Clock, LoopSettings, Progress, Tick, train
from translator.core.optimizer import ScheduleSettings
from translator.core.update import StepResult

STEP = step_of([collate_rows([[([5], [6])]])])  # two target tokens


class Diary:
    """Surroundings that write down what happens; each validation is as good as `gains` says."""

    def __init__(self, progress: Progress, gains: str = "") -> None:
        self.progress = progress
        self.gains = iter(gains)
        self.entries: list[str] = []
        self.ticks: list[Tick] = []

    def updated(self, result: StepResult, tick: Tick) -> None:
        self.entries.append(f"{self.progress.step}")
        self.ticks.append(tick)

    def validate(self) -> None:
        self.entries.append(f"validate {self.progress.step}")
        self.progress.validated_step = self.progress.step
        is_better = next(self.gains, "+") == "+"
        self.progress.validations_without_gain = 0 if is_better else self.progress.validations_without_gain + 1

    def save(self) -> None:
        self.entries.append(f"save {self.progress.step}")


class Counter:
    """A learner that only counts."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, float]] = []

    def update(self, step: StepBatches, number: int, seconds: float) -> Any:
        self.calls.append((number, seconds))
        return SimpleNamespace(step_batches=step)


class HalfMinutes:
    """An exchange between ranks, in which each tick takes half a minute; tick number `stop_at` asks to stop."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.stop_at = stop_at
        self.count = 0

    def __call__(self, tick: Tick) -> Tick:
        self.count += 1
        return Tick(seconds=30.0, waiting=tick.waiting, stop=self.count == self.stop_at)


def training(
    settings: LoopSettings,
    progress: Progress | None = None,
    gains: str = "",
    stop_at: int | None = None,
    learner: Any = None,
) -> tuple[str | None, str, Progress]:
    """Return what ended a training, what happened in it, and how far it came."""
    progress = progress or Progress()
    diary = Diary(progress, gains)
    clock = Clock(progress, HalfMinutes(stop_at))
    counter: Any = learner or Counter()
    ended_by = train(counter, itertools.repeat(STEP), progress, settings, diary, clock)
    return ended_by, ", ".join(diary.entries), progress


def test_a_training_validates_and_saves_where_it_is_due_and_at_its_end() -> None:
    """A validation saves, too; so nothing is saved beside it."""
    ended_by, entries, progress = training(LoopSettings(max_steps=7, save_every=3, validate_every=2))
    assert ended_by == "max_steps"
    assert entries == "1, 2, validate 2, 3, save 3, 4, validate 4, 5, 6, validate 6, 7, validate 7, save 7"
    assert (progress.step, progress.target_tokens) == (7, 14)


def test_a_training_without_validation_text_only_saves() -> None:
    _, entries, _ = training(LoopSettings(max_steps=3, save_every=2))
    assert entries == "1, 2, save 2, 3, save 3"


def test_a_training_ends_by_its_minutes() -> None:
    settings = LoopSettings(max_steps=99, save_every=50, validate_every=50, max_minutes=2.0)
    ended_by, entries, progress = training(settings)
    assert ended_by == "max_minutes"
    assert entries == "1, 2, 3, 4, validate 4, save 4"
    assert progress.seconds == 120.0


def test_a_training_ends_early_after_validations_without_a_gain_in_a_row() -> None:
    settings = LoopSettings(max_steps=99, save_every=50, validate_every=1, early_stopping=2)
    ended_by, entries, _ = training(settings, gains="+-+--")
    assert ended_by == "early_stopping"
    assert entries.endswith("5, validate 5, save 5")


def test_a_request_to_stop_ends_a_training_before_the_next_update_and_saves_nothing() -> None:
    ended_by, entries, progress = training(LoopSettings(max_steps=99, save_every=2, validate_every=2), stop_at=4)
    assert ended_by is None
    assert entries == "1, 2, validate 2, 3"
    assert progress.seconds == 120.0, "the time of waiting for the stop counts"


def test_a_restart_first_validates_what_a_stop_left_open() -> None:
    progress = Progress(step=4, validated_step=2)
    _, entries, _ = training(LoopSettings(max_steps=5, save_every=9, validate_every=2), progress)
    assert entries == "validate 4, 5, validate 5, save 5"


def test_a_finished_training_makes_no_update_when_it_starts_again() -> None:
    settings = LoopSettings(max_steps=5, save_every=2, validate_every=2)
    ended_by, entries, _ = training(settings, Progress(step=5, validated_step=5))
    assert (ended_by, entries) == ("max_steps", "save 5")


def test_an_update_gets_its_number_and_the_seconds_before_it() -> None:
    learner = Counter()
    training(LoopSettings(max_steps=12, save_every=99), Progress(step=10, seconds=300.0), learner=learner)
    assert learner.calls == [(11, 330.0), (12, 360.0)]


def test_a_tick_has_the_seconds_since_the_last_and_those_of_waiting_for_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seconds = [0.0]
    for clock in ("monotonic", "perf_counter"):
        monkeypatch.setattr(f"translator.core.loop.time.{clock}", lambda: seconds[0])

    def slow_batches() -> Iterator[StepBatches]:
        while True:
            seconds[0] += 3.0
            yield STEP

    class SlowDiary(Diary):
        def updated(self, result: StepResult, tick: Tick) -> None:
            super().updated(result, tick)
            seconds[0] += 2.0

    progress = Progress()
    diary = SlowDiary(progress)
    learner: Any = Counter()
    train(learner, slow_batches(), progress, LoopSettings(max_steps=2, save_every=99), diary)
    assert diary.ticks == [Tick(3.0, 3.0, False), Tick(5.0, 3.0, False)]


def test_one_process_stops_on_its_own_request() -> None:
    progress = Progress()
    diary = Diary(progress)
    learner: Any = Counter()
    clock = Clock(progress, stop_requested=lambda: progress.step == 2)
    settings = LoopSettings(max_steps=9, save_every=9)
    assert train(learner, itertools.repeat(STEP), progress, settings, diary, clock) is None
    assert diary.entries == ["1", "2"]


class PositionDiary(Diary):
    """Keeps the position of the next batches."""

    position = START

    def updated(self, result: StepResult, tick: Tick) -> None:
        self.position = result.step_batches.next_position


PAIRS = toy_pairs(TASKS["reverse"], 60)
SCHEDULE = ScheduleSettings(1e-2, "cosine", warmup_steps=2, max_steps=7)


def trained(stops: list[int]) -> dict[str, Tensor]:
    """Return weights and moments of a real learner after seven updates, with a restart after each of `stops`."""
    learner = toy_learner(SCHEDULE, label_smoothing=0.1, r_drop=1.0, dropout=0.2)
    progress = Progress()
    position = START
    for end in [*stops, 7]:
        fresh = toy_learner(SCHEDULE, label_smoothing=0.1, r_drop=1.0, dropout=0.2)
        fresh.loss.model.load_state_dict(learner.loss.model.state_dict())
        continue_from(fresh.optimizer, learner.optimizer)
        learner, progress = fresh, replace(progress)
        diary = PositionDiary(progress)
        train(learner, toy_steps(PAIRS, position, rows=4), progress, LoopSettings(max_steps=end, save_every=99), diary)
        position = diary.position
    assert position.epoch > 0, "the training crosses the end of an epoch"
    return {**learner.loss.model.state_dict(), **moments_of(learner.optimizer)}


def test_a_resumed_training_has_the_bits_of_one_that_never_stopped() -> None:
    torch.testing.assert_close(trained(stops=[1, 4, 6]), trained(stops=[]), rtol=0, atol=0)
