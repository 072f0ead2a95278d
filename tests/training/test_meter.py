"""Reports on the steps since the last one, against sums by hand."""

import math
from collections.abc import Callable, Sequence

import pytest
import torch
from small_model import SMALL
from step_results import broken_step, step_result

from translator.training.breakdown import Breakdown, Sources
from translator.training.flops import StepFlops
from translator.training.meter import Meter, Report, Speed

BREAKDOWN = Breakdown(Sources.of_counts({"mizan": 10, "tep": 5}))


class Clock:
    """A clock that stands still unless it is moved."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("translator.training.meter.time.perf_counter", clock)
    monkeypatch.setattr("translator.training.meter.time.time", None)  # the clock on the wall is not asked
    return clock


def test_a_report_has_the_numbers_of_all_steps(clock: Clock) -> None:
    meter = Meter(BREAKDOWN)
    meter.add(7, step_result([0, 12], [5, 10], [10.0, 35.0], norm=1.0))
    meter.add(8, step_result([3, 4, 14], [2, 3, 20], [4.0, 6.0, 20.0], norm=4.0, batches=2))
    meter.waited(1.5)
    meter.waited(0.5)
    clock.now += 8.0
    report = meter.read({"learning_rate": 1e-3, "epoch": 1.5})
    assert report.step == 8
    assert report.train == {
        "loss": pytest.approx(75 / 40),
        "perplexity": pytest.approx(math.exp(75 / 40)),
        "gradient_norm": 2.5,
        "gradient_norm_max": 4.0,
        "skipped_updates": 0.0,
        "learning_rate": 1e-3,
        "epoch": 1.5,
    }
    memory = report.speed.pop("memory_mib")
    assert 10 < memory < 1e6
    # Positions: two rows of 10, two of 3, one of 20, on both sides.
    assert report.speed == {
        "tokens_per_second": 5.0,
        "padding": pytest.approx(1 - 80 / (2 * (20 + 6 + 20))),
        "data_wait": 0.25,
    }
    assert report.loss_by_length == {"01-08": 2.0, "09-16": 3.5, "17-32": 1.0}
    assert report.loss_by_source == {"mizan": 2.0, "tep": pytest.approx(55 / 30)}
    assert report.mixture == {"mizan": 0.25, "tep": 0.75}
    assert [(step.step, step.loss) for step in report.steps] == [(7, 3.0), (8, pytest.approx(1.2))]
    assert report.steps[0].worst(1) == [(12, 3.5)]
    assert [number for number, _ in report.steps[1].worst(5)] in ([3, 4, 14], [4, 3, 14])


def test_a_report_begins_anew(clock: Clock) -> None:
    meter = Meter(BREAKDOWN)
    meter.add(1, step_result([0], [5], [100.0]))
    meter.waited(3.0)
    clock.now += 3.0
    meter.read({})
    clock.now += 50.0
    meter.restart()  # the 50 seconds were a validation
    meter.add(2, step_result([0], [5], [5.0]))
    clock.now += 1.0
    report = meter.read({})
    assert (report.train["loss"], report.speed["tokens_per_second"], report.speed["data_wait"]) == (1.0, 5.0, 0.0)
    assert [step.step for step in report.steps] == [2]


def test_a_skipped_update_is_counted_and_spoils_no_mean(clock: Clock) -> None:
    meter = Meter(BREAKDOWN)
    meter.add(1, step_result([0], [5], [5.0], norm=2.0))
    meter.add(2, broken_step(12))
    clock.now += 2.0
    report = meter.read({})
    assert (report.train["loss"], report.train["gradient_norm"], report.train["skipped_updates"]) == (1.0, 2.0, 1.0)
    assert report.speed["tokens_per_second"] == 4.0
    assert report.loss_by_source == {"mizan": 1.0}
    assert math.isnan(report.steps[1].loss)
    meter.add(3, broken_step())
    assert math.isnan(meter.read({}).train["loss"]), "there is none"


def test_the_share_of_the_matrix_rate(clock: Clock) -> None:
    flops = StepFlops(SMALL, 27)
    meter = Meter(BREAKDOWN, Speed(flops, matrix_rate=1e6))
    meter.add(1, step_result([0, 1], [5, 9], [1.0, 1.0]))
    clock.now += 4.0
    assert meter.read({}).speed["matrix_rate_share"] == pytest.approx(flops([5, 9], [5, 9]) / 4.0 / 1e6)


Total = Callable[[Sequence[float]], list[float]]


def together(world: int, work: Callable[[int, Total], Report]) -> list[Report]:
    """Do `work` once to hear the numbers of each rank, and once more with the sums of all."""
    said: list[list[float]] = []

    def hear(values: Sequence[float]) -> list[float]:
        said.append(list(values))
        return list(values)

    for rank in range(world):
        work(rank, hear)
    assert len(said) == world, "each rank adds up once a report"
    sums = [sum(column) for column in zip(*said, strict=True)]
    return [work(rank, lambda _: sums) for rank in range(world)]


def test_three_ranks_report_as_one(clock: Clock) -> None:
    """Rank 0 has two thirds of the first step, rank 1 the rest, and rank 2 nothing; the second step is broken on 1."""
    numbers, lengths, losses = [0, 12, 4], [5, 10, 3], [10.0, 35.0, 6.0]
    whole = step_result(numbers, lengths, losses)
    speed = Speed(StepFlops(SMALL, 27), 1e6)
    alone = Meter(BREAKDOWN, speed)
    alone.add(1, whole)
    alone.add(2, broken_step())
    clock.now += 2.0

    def work(rank: int, total: Total) -> Report:
        own = [slice(0, 2), slice(2, 3), slice(0, 0)][rank]
        meter = Meter(BREAKDOWN, speed, total)
        first = step_result(numbers[own], lengths[own], losses[own], batches=1 if rank < 2 else 0)
        counts = {key: getattr(whole, key) for key in ("target_tokens", "source_tokens", "positions")}
        meter.add(1, type(first)(**(vars(first) | counts)))
        second = broken_step() if rank == 1 else step_result([], [], [], norm=math.nan, finite=False, batches=0)
        meter.add(2, type(second)(**(vars(second) | {"target_tokens": 3, "source_tokens": 3, "positions": 6})))
        meter.waited([3.0, 0.0, 0.0][rank])
        meter._began -= 2.0
        return meter.read({})

    expected = alone.read({})
    for report in together(3, work):
        assert report.train == pytest.approx(expected.train)
        assert report.loss_by_length == pytest.approx(expected.loss_by_length)
        assert report.loss_by_source == pytest.approx(expected.loss_by_source)
        assert report.mixture == pytest.approx(expected.mixture)
        assert report.steps[0].loss == pytest.approx(51 / 18)
        assert report.speed["data_wait"] == pytest.approx(0.5), "the mean of 1.5, 0 and 0"
        assert report.speed["tokens_per_second"] == expected.speed["tokens_per_second"]
        share = expected.speed["matrix_rate_share"] / 3
        assert report.speed["matrix_rate_share"] == pytest.approx(share), "the same work, three times the machine"


def test_a_report_as_text(clock: Clock) -> None:
    meter = Meter(BREAKDOWN)
    meter.add(1250, step_result([0, 12], [500, 5], [1500.0, 5.0]))
    clock.now += 0.5
    report = meter.read({"learning_rate": 7e-4})
    assert report.short == "loss 2.980  1,010 tokens/s"
    assert report.line.startswith("step 1,250: loss 2.9802  perplexity 19.6")
    assert "learning_rate 0.0007" in report.line
    assert report.line.endswith("loss by length: 01-08 1  65-up 3; loss by source: mizan 3  tep 1")
    assert "\n" not in report.line


def test_nothing_is_read_from_the_device_before_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    result = step_result([0], [5], [5.0])
    meter = Meter(BREAKDOWN)
    with monkeypatch.context() as patches:

        def refuse(tensor: torch.Tensor, *_: object) -> object:
            raise AssertionError("this waits for the device")

        for reading in ("item", "tolist", "cpu", "__bool__", "__float__"):
            patches.setattr(torch.Tensor, reading, refuse)
        meter.add(1, result)
    assert meter.read({}).train["loss"] == 1.0
