"""The training loop: what happens in which order, what ends it, and where a restart continues; loop.yaml has cases."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from tests.support.step_batches import step_of
from translator.core.batch import StepBatches, collate_rows
from translator.core.loop import Clock, LoopSettings, Progress, Tick, train
from translator.core.update import StepResult

STEP = step_of([collate_rows([[([5], [6])]])])  # two target tokens
CASES = yaml.safe_load(Path(__file__).with_name("loop.yaml").read_text(encoding="utf-8"))


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

    def __init__(self, stop_at: int | None) -> None:
        self.stop_at = stop_at
        self.count = 0

    def __call__(self, tick: Tick) -> Tick:
        self.count += 1
        return Tick(seconds=30.0, waiting=tick.waiting, stop=self.count == self.stop_at)


@pytest.mark.parametrize("name", CASES)
def test_a_training_does_what_is_due_in_its_order(name: str) -> None:
    case = CASES[name]
    progress = Progress(**case.get("progress", {}))
    before = progress.step
    diary = Diary(progress, case.get("gains", ""))
    learner: Any = Counter()
    settings = LoopSettings(**case["settings"])
    clock = Clock(progress, HalfMinutes(case.get("stop_at")))
    ended_by = train(learner, itertools.repeat(STEP), progress, settings, diary, clock)
    assert (ended_by, ", ".join(diary.entries)) == (case["ended_by"], case["happens"])

    # An update gets its number, and the seconds before it; the time of waiting for a stop counts.
    updates = progress.step - before
    assert learner.calls == [(before + number, 30.0 * number) for number in range(1, updates + 1)]
    assert progress.target_tokens == 2 * updates
    assert progress.seconds == 30.0 * (updates + ("stop_at" in case))


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
