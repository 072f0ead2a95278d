"""Reports against sums by hand: losses, gradient norms and speed."""

import math
from types import SimpleNamespace

import pytest

from tests.support.small_model import SMALL
from tests.support.step_results import broken_step, step_result
from translator.training.breakdown import Breakdown
from translator.training.flops import StepFlops
from translator.training.meter import Meter, Report

BREAKDOWN = Breakdown({"mizan": 10, "tep": 5})


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr("translator.training.meter.time.perf_counter", lambda: clock.now)
    return clock


@pytest.fixture
def report(clock: SimpleNamespace) -> Report:
    """A report on two updates, of 15 and 25 target tokens, that took 8 seconds."""
    meter = Meter(BREAKDOWN)
    meter.add(7, step_result([0, 12], [5, 10], [10.0, 35.0], norm=1.0, row_length=20))
    meter.add(1250, step_result([3, 4, 14], [2, 3, 20], [4.0, 6.0, 20.0], norm=4.0, batches=2, row_length=20))
    meter.waited += 2.0
    clock.now += 8.0
    return meter.read({"learning_rate": 1e-3, "epoch": 1.5})


def test_report_covers_all_steps_since_the_last_one(report: Report) -> None:
    assert report.curves["loss"] == {"train": pytest.approx(75 / 40)}
    assert report.curves["train"] == {
        "perplexity": pytest.approx(math.exp(75 / 40)),
        "gradient_norm": 2.5,
        "gradient_norm_max": 4.0,
        "skipped_updates": 0.0,
        "learning_rate": 1e-3,
        "epoch": 1.5,
    }


def test_losses_are_broken_down_by_sentence(report: Report) -> None:
    assert report.curves["train_by_length"] == {"01-08": 2.0, "09-16": 3.5, "17-32": 1.0}
    assert report.curves["train_by_source"] == {"mizan": 2.0, "tep": pytest.approx(55 / 30)}
    assert report.curves["train_mixture"] == {"mizan": 0.25, "tep": 0.75}


def test_each_step_has_its_loss_per_token(report: Report) -> None:
    assert [step[:2] for step in report.steps] == [(7, 3.0), (1250, pytest.approx(1.2))]


def test_speed_counts_the_real_target_tokens(report: Report) -> None:
    assert report.curves["speed"]["tokens_per_second"] == 5.0


def test_padding_is_the_share_of_positions_without_token(report: Report) -> None:
    """Three rows of 20 positions, on both sides, hold 40 tokens per side."""
    assert report.curves["speed"]["padding"] == pytest.approx(1 - 80 / 120)


def test_data_wait_is_the_share_of_the_time(report: Report) -> None:
    assert report.curves["speed"]["data_wait"] == 0.25


def test_memory_and_processor_time_are_measured(report: Report) -> None:
    assert 10 < report.curves["speed"]["memory_mib"] < 1e6
    assert 0 <= report.curves["speed"]["cpu_share"] <= 1


def test_the_log_line_has_all_values_but_the_mixture(report: Report) -> None:
    assert report.line.startswith("step 1,250: loss 1.875  perplexity 6.52082")
    assert report.line.endswith("loss by length: 01-08 2  09-16 3.5  17-32 1; loss by source: mizan 2  tep 1.83333")


def test_the_time_before_a_restart_does_not_count(clock: SimpleNamespace) -> None:
    meter = Meter(BREAKDOWN)
    clock.now += 50.0  # a validation
    meter.restart()
    meter.add(1, step_result([0], [5], [5.0]))
    clock.now += 1.0
    assert meter.read({}).curves["speed"]["tokens_per_second"] == 5.0


def test_a_report_resets_the_meter(clock: SimpleNamespace) -> None:
    meter = Meter(BREAKDOWN)
    meter.add(1, step_result([0], [5], [50.0]))
    meter.waited += 2.0
    clock.now += 8.0
    meter.read({})
    meter.add(2, step_result([0], [5], [5.0]))
    clock.now += 1.0
    report = meter.read({})
    assert report.curves["loss"]["train"] == 1.0
    assert report.curves["speed"]["data_wait"] == 0.0
    assert [step.step for step in report.steps] == [2]


@pytest.fixture
def report_with_skipped_update(clock: SimpleNamespace) -> Report:
    meter = Meter(BREAKDOWN)
    meter.add(1, step_result([0], [5], [5.0], norm=2.0))
    meter.add(2, broken_step(12))
    clock.now += 2.0
    return meter.read({})


def test_a_skipped_update_is_left_out_of_the_means(report_with_skipped_update: Report) -> None:
    train = report_with_skipped_update.curves["train"]
    assert (report_with_skipped_update.curves["loss"]["train"], train["gradient_norm"]) == (1.0, 2.0)
    assert report_with_skipped_update.curves["train_by_source"] == {"mizan": 1.0}


def test_a_skipped_update_is_counted(report_with_skipped_update: Report) -> None:
    assert report_with_skipped_update.curves["train"]["skipped_updates"] == 1.0
    assert report_with_skipped_update.curves["speed"]["tokens_per_second"] == 4.0


def test_the_loss_of_a_skipped_update_is_not_a_number(report_with_skipped_update: Report) -> None:
    assert math.isnan(report_with_skipped_update.steps[1].loss)


def test_a_report_on_skipped_updates_alone_has_no_loss() -> None:
    meter = Meter(BREAKDOWN)
    meter.add(3, broken_step())
    report = meter.read({})
    assert math.isnan(report.curves["loss"]["train"])
    assert report.line.startswith("step 3: loss nan")


def test_utilisation_compares_the_operations_to_the_matrix_rate(clock: SimpleNamespace) -> None:
    flops = StepFlops(SMALL, 27)
    meter = Meter(BREAKDOWN, flops, peak_rate=1e9)
    meter.add(1, step_result([0, 1], [5, 3], [1.0, 1.0]))
    clock.now += 2.0
    share = meter.read({}).curves["speed"]["matrix_rate_share"]
    assert share == pytest.approx(flops([5, 3], [5, 3]) / 2.0 / 1e9)


def test_losses_are_summed_over_all_ranks() -> None:
    """Two ranks with equal batches: twice the loss of one, over the tokens of the whole update."""
    meter = Meter(BREAKDOWN, sum_over_ranks=lambda values: [2 * value for value in values])
    meter.add(1, step_result([0], [5], [5.0]))
    report = meter.read({})
    assert report.curves["loss"]["train"] == 1.0
    assert report.steps[0].loss == 2.0, "the result counts the tokens of one rank"


def test_a_rank_with_empty_rows_reports_too() -> None:
    meter = Meter(BREAKDOWN)
    meter.add(1, step_result([0], [5], [5.0], batches=2))
    assert meter.read({}).curves["loss"]["train"] == 1.0
