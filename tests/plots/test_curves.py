"""Learning curves of several runs: read back, put side by side, drawn."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plots.drawn import heights, points
from torch.utils.tensorboard import SummaryWriter

from translator.config import resolved_yaml
from translator.errors import InputError, RunError
from translator.plots.curves import curves_figure, metric_panels, smoothed
from translator.plots.event_files import Curve, RunCurves, read_curves
from translator.training.monitor import TEST_SUFFIX

Sitting = Mapping[str, Sequence[tuple[int, float, float]]]


@pytest.fixture
def folder(tiny: Any, tmp_path: Path) -> Path:
    """A run folder without events."""
    path = tmp_path / "runs" / "a"
    (path / "tensorboard").mkdir(parents=True)
    (path / "config.yaml").write_text(resolved_yaml(tiny()), encoding="utf-8")
    return path


def sit(run: Path, began: float, sitting: Sitting, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the event file of a sitting that began at so many seconds: step, seconds since then, value."""
    with monkeypatch.context() as patch:
        patch.setattr("time.time", lambda: began)
        with SummaryWriter(str(run / "tensorboard")) as writer:
            for tag, points in sitting.items():
                for step, seconds, value in points:
                    writer.add_scalar(tag, value, step, walltime=began + seconds)


def test_sittings_are_joined_and_lost_steps_left_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first: Sitting = {
        "train/loss": [(10, 60, 5.0), (20, 120, 4.0), (30, 180, 9.0)],
        "train/tokens_seen": [(10, 60, 100), (20, 120, 220), (30, 180, 330)],
    }
    second: Sitting = {
        "train/loss": [(30, 30, 3.0), (40, 90, 2.0)],
        "train/tokens_seen": [(30, 30, 340), (40, 90, 440)],
        "validation/chrf": [(40, 120, 50.0)],
    }
    sit(folder, 1_700_000_000, first, monkeypatch)
    sit(folder, 1_700_050_000, second, monkeypatch)
    run = read_curves(folder)
    loss = run.curves["train/loss"]
    assert loss.steps.tolist() == [10, 20, 30, 40]
    assert loss.values.tolist() == [5, 4, 3, 2]
    assert loss.minutes.tolist() == [1, 2, 2.5, 3.5]
    assert run.curves["validation/chrf"].minutes.tolist() == [4]
    assert run.tokens(np.array([0.0, 5.0, 20.0, 35.0, 40.0])).tolist() == [0, 50, 220, 390, 440]


def test_a_test_score_takes_no_later_point_away(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An evaluation of an earlier checkpoint writes an event file that begins with its step."""
    sit(folder, 1_700_000_000, {"validation/chrf": [(10, 60, 20.0), (20, 120, 30.0), (30, 180, 29.0)]}, monkeypatch)
    for began, score in ((1_700_060_000, 24.0), (1_700_070_000, 25.0)):
        with monkeypatch.context() as patch:
            patch.setattr("time.time", lambda began=began: began)
            with SummaryWriter(str(folder / "tensorboard"), filename_suffix=TEST_SUFFIX) as writer:
                writer.add_scalar("test/chrf", score, 20)
    run = read_curves(folder)
    assert run.curves["validation/chrf"].steps.tolist() == [10, 20, 30]
    (test,) = zip(*run.curves["test/chrf"].__dict__.values(), strict=True)
    assert test == (20, 25, 2), "the last score, where the training was at its step"


def test_what_has_no_curves(folder: Path) -> None:
    with pytest.raises(RunError, match="no run at"):
        read_curves(folder / "nothing")
    with pytest.raises(RunError, match=r"no events in .*tensorboard.*log_every"):
        read_curves(folder)
    (folder / "tensorboard" / "events.out.tfevents.1.x").write_bytes(b"this is no event file, whatever its name says")
    with pytest.raises(RunError, match=r"no events in .*tensorboard"):
        read_curves(folder)


def curve(*points: tuple[float, float]) -> Curve:
    steps, values = np.array(points).T
    return Curve(steps, values, steps / 10)


def made(name: str, **curves: Curve) -> RunCurves:
    return RunCurves(Path("runs") / name, {tag.replace("__", "/"): points for tag, points in curves.items()})


A = made(
    "a",
    train__loss=curve((10, 5), (20, 4)),
    train__tokens_seen=curve((10, 1e6), (20, 3e6)),
    validation__loss=curve((20, 4.5)),
    validation__chrf=curve((20, 30)),
)
B = made("b", train__loss=curve((10, 6), (20, 5.5)), speed__padding=curve((10, 0.1)))


def test_a_short_metric_takes_training_and_validation_a_long_one_itself() -> None:
    loss, padding = metric_panels([A, B], ["loss", "speed/padding"])
    assert [(line.run, line.group) for line in loss.lines] == [(0, "train"), (0, "validation"), (1, "train")]
    assert [(line.run, line.group) for line in padding.lines] == [(1, "speed/padding")]
    assert loss.lines[0].across.tolist() == [10, 20]


def test_what_runs_across() -> None:
    assert metric_panels([A], ["chrf"], "tokens")[0].lines[0].across.tolist() == [3.0]
    assert metric_panels([A], ["chrf"], "minutes")[0].lines[0].across.tolist() == [2.0]
    with pytest.raises(RunError, match=r"b did not note its target tokens.*--over"):
        metric_panels([B], ["loss"], "tokens")


def test_a_metric_that_is_nowhere_or_somewhere_only(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(InputError, match=r"`bleu`; there are: chrf, loss, tokens_seen, speed/\.\.\."):
        metric_panels([A, B], ["bleu"])
    metric_panels([A, B], ["chrf"])
    assert caplog.messages == [f"no curve of chrf to draw: {Path('runs') / 'b'}"]


def test_smoothing_is_the_mean_of_the_last_points() -> None:
    values = np.array([4.0, 2.0, 6.0, 0.0])
    assert smoothed(values, 1).tolist() == [4, 2, 6, 0]
    assert smoothed(values, 2).tolist() == [4, 3, 4, 3]
    assert smoothed(values, 9).tolist() == [4, 3, 4, 3]
    assert smoothed(values, 10**30).tolist() == [4, 3, 4, 3]


def test_the_picture_shows_each_curve_in_the_colour_of_its_run() -> None:
    runs = [A, B]
    figure = curves_figure(runs, metric_panels(runs, ["loss", "chrf"]))
    loss, chrf = figure.axes
    drawn = [(points(line), line.get_linestyle()) for line in loss.lines]
    assert drawn == [([[10, 5], [20, 4]], "--"), ([[20, 4.5]], "-"), ([[10, 6], [20, 5.5]], "--")]
    colours = [line.get_color() for line in loss.lines]
    assert colours[0] == colours[1] != colours[2]
    assert points(chrf.lines[0]) == [[20, 30]]
    assert (loss.get_xlabel(), loss.get_ylabel()) == ("update of the weights", "loss, nats a token")
    labels = [text.get_text().strip("\u202d\u202c") for text in figure.legends[0].get_texts()]
    assert labels == ["a", "b", "training", "validation"]


def test_smoothing_is_said_and_leaves_validation_alone() -> None:
    figure = curves_figure([A], metric_panels([A], ["loss"], "minutes"), "minutes", smooth=2)
    (axes,) = figure.axes
    assert [heights(line) for line in axes.lines] == [[5, 4], [5, 4.5], [4.5]]
    assert axes.get_xlabel() == "minutes of training and validation"
    assert figure.legends[0].get_texts()[-1].get_text() == "before the mean of 2 points"
