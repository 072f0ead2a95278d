"""Reports against sums by hand: losses by length and source, norms, speed, FLOPs; skipped updates and loss spikes."""

import json
import logging
import math
import random
import re
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_model import SMALL
from step_results import broken_step, step_result
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from translator.errors import RunError
from translator.model import Transformer
from translator.training.distributed import Distributed
from translator.training.meter import STOPPED_BATCH, Breakdown, LossSpikes, Meter, SkippedUpdates, StepFlops, StepLoss
from translator.training.step import StepResult

BREAKDOWN = Breakdown({"mizan": 10, "tep": 5})
GOOD = step_result([0, 1], [4, 3], [2.0, 6.0])


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr("translator.training.meter.time.perf_counter", lambda: clock.now)
    return clock


def test_report_covers_all_steps_since_the_last_one(clock: SimpleNamespace) -> None:
    meter = Meter(BREAKDOWN)
    meter.add(7, step_result([0, 12], [5, 10], [10.0, 35.0], norm=1.0))
    meter.add(1250, step_result([3, 4, 14], [2, 3, 20], [4.0, 6.0, 20.0], norm=4.0, batches=2))
    meter.waited += 2.0
    clock.now += 8.0
    report = meter.read({"learning_rate": 1e-3, "epoch": 1.5})
    assert report.curves["train"] == {
        "loss": pytest.approx(75 / 40),
        "perplexity": pytest.approx(math.exp(75 / 40)),
        "gradient_norm": 2.5,
        "gradient_norm_max": 4.0,
        "skipped_updates": 0.0,
        "learning_rate": 1e-3,
        "epoch": 1.5,
    }
    memory, share = (report.curves["speed"].pop(name) for name in ("memory_mib", "cpu_share"))
    assert 0 <= share <= 1 and 10 < memory < 1e6
    # Positions: two rows of 10, two of 3, one of 20, on both sides.
    padding = pytest.approx(1 - 80 / (2 * (20 + 6 + 20)))
    assert report.curves["speed"] == {"tokens_per_second": 5.0, "padding": padding, "data_wait": 0.25}
    assert report.curves["loss_by_length"] == {"01-08": 2.0, "09-16": 3.5, "17-32": 1.0}
    assert report.curves["loss_by_source"] == {"mizan": 2.0, "tep": pytest.approx(55 / 30)}
    assert report.curves["mixture"] == {"mizan": 0.25, "tep": 0.75}
    assert [step[:2] for step in report.steps] == [(7, 3.0), (1250, pytest.approx(1.2))]
    assert report.line.startswith("step 1,250: loss 1.875  perplexity 6.52082")
    assert report.line.endswith("loss by length: 01-08 2  09-16 3.5  17-32 1; loss by source: mizan 2  tep 1.83333")
    clock.now += 50.0
    meter.restart()  # the 50 seconds were a validation
    meter.add(1251, step_result([0], [5], [5.0]))
    clock.now += 1.0
    report = meter.read({})
    assert (report.curves["train"]["loss"], [step.step for step in report.steps]) == (1.0, [1251])
    assert (report.curves["speed"]["tokens_per_second"], report.curves["speed"]["data_wait"]) == (5.0, 0.0)


def test_a_skipped_update_is_counted_and_left_out_of_the_means(clock: SimpleNamespace) -> None:
    meter = Meter(BREAKDOWN)
    meter.add(1, step_result([0], [5], [5.0], norm=2.0))
    meter.add(2, broken_step(12))
    clock.now += 2.0
    report = meter.read({})
    train = report.curves["train"]
    assert (train["loss"], train["gradient_norm"], train["skipped_updates"]) == (1.0, 2.0, 1.0)
    assert report.curves["speed"]["tokens_per_second"] == 4.0
    assert report.curves["loss_by_source"] == {"mizan": 1.0}
    assert math.isnan(report.steps[1].loss)
    meter.add(3, broken_step())
    assert math.isnan(meter.read({}).curves["train"]["loss"]), "there is none"


@pytest.mark.parametrize(
    "changes",
    [{}, {"activation": "swiglu", "tied_embeddings": "none"}, {"decoder_layers": 1, "heads": 2, "feed_forward": 48}],
)
def test_step_flops_agree_with_torchs_flop_counter(changes: dict[str, Any]) -> None:
    """On a batch without padding, with attention as plain products; the 1% tolerance covers small operations."""
    config = SMALL.model_copy(update=changes)
    model = Transformer(config, 21, 27)
    source, target_input = torch.randint(4, 20, (3, 14)), torch.randint(4, 20, (3, 11))
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        model(source, target_input).sum().backward()
    assert StepFlops(config, 27)([14] * 3, [11] * 3) == pytest.approx(counter.get_total_flops(), rel=0.01)


class TwoRanks(Distributed):
    def gather_text(self, text: str) -> list[str]:
        return [text, json.dumps([{"pair": 14, "source": [7, 3], "labels": [8, 3]}])]


def read(results: list[StepResult], first: int) -> list[StepLoss]:
    meter = Meter(BREAKDOWN)
    for step, result in enumerate(results, start=first):
        meter.add(step, result)
    return meter.read({}).steps


def test_each_streak_of_skipped_updates_is_counted_and_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("translator"), "propagate", True)
    skipped = SkippedUpdates(tmp_path, 3, BREAKDOWN, Distributed(), {"skipped": 0, "in_a_row": 0})
    skipped.check(read([broken_step(), broken_step(), GOOD], first=5))
    skipped.check(read([broken_step()], first=8))
    assert skipped.counts == {"skipped": 3, "in_a_row": 1}
    logged = [record.getMessage() for record in {id(record): record for record in caplog.records}.values()]
    assert [line.split(":")[0] for line in logged] == ["step 5", "step 8"]
    assert "this update is skipped (3 in all; training.max_skipped_updates=3 in a row stop the run)" in logged[1]
    assert list(tmp_path.iterdir()) == []


def test_too_many_skipped_updates_stop_the_run_and_save_the_last_batch(tmp_path: Path) -> None:
    skipped = SkippedUpdates(tmp_path, 3, BREAKDOWN, TwoRanks(0, 2), {"skipped": 0, "in_a_row": 0})
    skipped.check(read([GOOD, broken_step()], first=7))
    last = step_result([3, 12, 4], [5, 4, 2], [float("nan"), 2.5, float("inf")], float("nan"), False, batches=2)
    with pytest.raises(RunError) as raised:
        skipped.check(read([broken_step(), last, GOOD], first=9))
    for said in ("3 updates in a row (steps 8 to 10)", str(tmp_path / STOPPED_BATCH), "training.learning_rate"):
        assert said in str(raised.value)
    about = json.loads((tmp_path / STOPPED_BATCH).read_text(encoding="utf-8"))
    assert (about["step"], about["gradient_norm"]) == (10, "nan")
    own, other = about["sentences"][:3], about["sentences"][3:]
    rows = [(row["pair"], row["corpus_source"], row["line_in_train"], row["loss"]) for row in own]
    assert rows == [(3, "mizan", 4, "nan"), (12, "tep", 3, "2.5"), (4, "mizan", 5, "inf")]
    assert [row["labels"] for row in own[:2]] == last.batches[0].labels.tolist()
    assert own[2]["source"] == last.batches[1].source[0].tolist()
    assert [row["pair"] for row in other] == [14]


def steps(losses: list[float]) -> list[StepLoss]:
    return [StepLoss(step, loss, GOOD) for step, loss in enumerate(losses, start=1)]


def falling(count: int, jumps: dict[int, float]) -> list[StepLoss]:
    """Return a loss that falls with noise, as in training, but is replaced at the steps of `jumps`."""
    noise = random.Random(1)
    losses = [3.0 + 6.0 * math.exp(-step / 60) + noise.gauss(0, 0.05) for step in range(count)]
    return steps([jumps.get(step, loss) for step, loss in enumerate(losses, start=1)])


def test_loss_jumps_are_reported_as_spikes_and_noise_is_not() -> None:
    assert LossSpikes().find(falling(1000, {})) == {}
    ((loss, line),) = LossSpikes().find(falling(700, {601: 5.0})).values()
    assert loss == 5.0
    said, mean, pairs = re.split(r" after (\d\.\d{3}); hardest training pairs: ", line)
    assert (said, pairs) == ("loss spike at step 601: 5.000", "1 (2.00), 0 (0.50)")
    assert float(mean) == pytest.approx(3.0, abs=0.1)
    assert list(LossSpikes().find(falling(700, {601: 60.0, 611: 6.0}))) == [601, 611], "one does not hide the next"
    quiet = [3.0] * 200
    assert LossSpikes().find(steps([*quiet, 3.5])) == {}, "many deviations, but less than a fifth"
    assert list(LossSpikes().find(steps([*quiet, 3.7]))) == [201]


@given(st.lists(st.floats(0.01, 20) | st.just(math.nan), max_size=60), st.integers(0, 60))
def test_spike_detection_resumes_exactly_and_ignores_skipped_updates(losses: list[float], cut: int) -> None:
    whole, first = LossSpikes(), LossSpikes()
    whole.find(steps([loss for loss in losses if not math.isnan(loss)]))
    first.find(steps(losses[:cut]))
    second = LossSpikes(**json.loads(json.dumps(asdict(first))))
    second.find(steps(losses[cut:]))
    assert second == whole
