"""Skipped updates and loss spikes."""

import json
import logging
import math
import random
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.step_results import broken_step, step_result
from translator.errors import RunError
from translator.training.breakdown import Breakdown
from translator.training.distributed import Distributed
from translator.training.health import STOPPED_BATCH, LossSpikes, SkippedCounts, SkippedUpdates
from translator.training.meter import Meter, StepLoss
from translator.training.step_result import StepResult

BREAKDOWN = Breakdown({"mizan": 10, "tep": 5})
GOOD = step_result([0, 1], [4, 3], [2.0, 6.0])
LAST = step_result(
    [3, 12, 4], [5, 4, 2], [math.nan, 2.5, math.inf], norm=math.nan, finite=False, batches=2, row_length=12
)
"""An update that is skipped: a batch with the pairs 3 and 12 in one row, and a batch with pair 4."""


class TwoRanks(Distributed):
    def gather_text(self, text: str) -> list[str]:
        return [text, json.dumps([{"pair": 14, "source": [7, 3], "labels": [8, 3]}])]


def read(results: list[StepResult], first: int) -> list[StepLoss]:
    meter = Meter(BREAKDOWN)
    for step, result in enumerate(results, start=first):
        meter.add(step, result)
    return meter.read({}).steps


def skipped_updates(folder: Path, distributed: Distributed) -> SkippedUpdates:
    return SkippedUpdates(folder, 3, BREAKDOWN, distributed, SkippedCounts())


def test_skipped_updates_are_counted_over_reports(tmp_path: Path) -> None:
    skipped = skipped_updates(tmp_path, Distributed())
    skipped.check(read([broken_step(), broken_step(), GOOD], first=5))
    skipped.check(read([broken_step()], first=8))
    assert skipped.counts == SkippedCounts(skipped=3, in_a_row=1)
    assert list(tmp_path.iterdir()) == []


def test_each_streak_of_skipped_updates_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("translator"), "propagate", True)
    skipped = skipped_updates(tmp_path, Distributed())
    skipped.check(read([broken_step(), broken_step(), GOOD], first=5))
    skipped.check(read([broken_step()], first=8))
    records = {id(record): record for record in caplog.records}  # a record may be captured twice
    first_streak, second_streak = [record.getMessage() for record in records.values()]
    assert first_streak.startswith("step 5:")
    assert second_streak.startswith("step 8:")
    assert "this update is skipped (3 in all; training.max_skipped_updates=3 in a row stop the run)" in second_streak


@pytest.fixture
def stopped(tmp_path: Path) -> str:
    """The message of a run that stopped after three skipped updates, the last of them `LAST`."""
    skipped = skipped_updates(tmp_path, TwoRanks(0, 2))
    skipped.check(read([GOOD, broken_step()], first=7))
    with pytest.raises(RunError) as raised:
        skipped.check(read([broken_step(), LAST, GOOD], first=9))
    return str(raised.value)


@pytest.fixture
def stopped_batch(stopped: str, tmp_path: Path) -> Any:
    return json.loads((tmp_path / STOPPED_BATCH).read_text(encoding="utf-8"))


def test_too_many_skipped_updates_in_a_row_stop_the_run(stopped: str, tmp_path: Path) -> None:
    for text in ("3 updates in a row (steps 8 to 10)", str(tmp_path / STOPPED_BATCH), "training.learning_rate"):
        assert text in stopped


def test_the_file_describes_the_last_update(stopped_batch: Any) -> None:
    assert stopped_batch["step"] == 10
    assert stopped_batch["gradient_norm"] == "nan"


def test_the_file_names_the_place_and_loss_of_each_sentence(stopped_batch: Any) -> None:
    keys = ("pair", "corpus_source", "line_in_train", "loss")
    rows = []
    for sentence in stopped_batch["sentences"][:3]:
        rows.append([sentence[key] for key in keys])
    assert rows == [
        [3, "mizan", 4, "nan"],
        [12, "tep", 3, "2.5"],
        [4, "mizan", 5, "inf"],
    ]


@pytest.mark.parametrize("side", ["source", "labels"])
def test_the_file_has_the_ids_of_each_sentence_cut_out_of_its_row(stopped_batch: Any, side: str) -> None:
    ids = [sentence[side] for sentence in stopped_batch["sentences"][:3]]
    assert ids == [[10, 10, 10, 10, 3], [11, 11, 11, 3], [12, 3]]


def test_the_file_has_the_sentences_of_all_ranks(stopped_batch: Any) -> None:
    assert [sentence["pair"] for sentence in stopped_batch["sentences"]] == [3, 12, 4, 14]


def test_a_rank_with_empty_rows_stops_too(tmp_path: Path) -> None:
    skipped = skipped_updates(tmp_path, Distributed())
    empty = step_result([3], [5], [math.nan], norm=math.nan, finite=False, batches=2, row_length=5)
    with pytest.raises(RunError):
        skipped.check(read([empty] * 3, first=1))


def steps(losses: list[float]) -> list[StepLoss]:
    return [StepLoss(step, loss, GOOD) for step, loss in enumerate(losses, start=1)]


def falling(count: int, jumps: dict[int, float]) -> list[StepLoss]:
    """Return a loss that falls with noise, as in training, but is replaced at the steps of `jumps`."""
    noise = random.Random(1)
    losses = [3.0 + 6.0 * math.exp(-step / 60) + noise.gauss(0, 0.05) for step in range(count)]
    return steps([jumps.get(step, loss) for step, loss in enumerate(losses, start=1)])


def spike_steps(losses: list[StepLoss]) -> list[int]:
    return [spike.step for spike in LossSpikes().find(losses)]


def test_noise_is_no_spike() -> None:
    assert spike_steps(falling(1000, {})) == []


def test_a_spike_is_described_with_its_hardest_pairs() -> None:
    (spike,) = LossSpikes().find(falling(700, {601: 5.0}))
    assert (spike.step, spike.loss) == (601, 5.0)
    beginning, mean, pairs = re.split(r" after (\d\.\d{3}); hardest training pairs: ", spike.line)
    assert beginning == "loss spike at step 601: 5.000"
    assert float(mean) == pytest.approx(3.0, abs=0.1)
    assert pairs == "1 (2.00), 0 (0.50)"


def test_a_spike_does_not_hide_the_next_one() -> None:
    assert spike_steps(falling(700, {601: 60.0, 611: 6.0})) == [601, 611]


@pytest.mark.parametrize(("loss", "expected"), [(3.5, []), (3.7, [201])])
def test_a_spike_exceeds_the_mean_by_a_fifth(loss: float, expected: list[int]) -> None:
    """Without noise, both losses are many standard deviations above the mean."""
    assert spike_steps(steps([*[3.0] * 200, loss])) == expected


LOSSES = st.lists(st.floats(0.01, 20) | st.just(math.nan), max_size=60)


@given(LOSSES)
def test_spike_detection_ignores_skipped_updates(losses: list[float]) -> None:
    spikes = LossSpikes()
    spikes.find(steps(losses))
    finite_losses = [loss for loss in losses if not math.isnan(loss)]
    spikes_of_finite_losses = LossSpikes()
    spikes_of_finite_losses.find(steps(finite_losses))
    assert spikes == spikes_of_finite_losses


@given(LOSSES, st.integers(0, 60))
def test_spike_detection_resumes_exactly(losses: list[float], cut: int) -> None:
    uninterrupted = LossSpikes()
    uninterrupted.find(steps(losses))

    interrupted = LossSpikes()
    interrupted.find(steps(losses[:cut]))
    saved = json.dumps(asdict(interrupted))
    resumed = LossSpikes(**json.loads(saved))
    resumed.find(steps(losses[cut:]))
    assert resumed == uninterrupted
