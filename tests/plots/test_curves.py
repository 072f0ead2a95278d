"""Learning curves of several runs: read from event files, selected by metric, drawn."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from torch.utils.tensorboard import SummaryWriter

from translator.errors import InputError, RunError
from translator.plots.curves import (
    Curves,
    Numbers,
    Over,
    chosen_tags,
    curves_figure,
    horizontal_positions,
    read_curves,
)
from translator.training.monitoring.event_file import TEST_SUFFIX


def write_events(
    run: Path,
    began: int,
    events: Mapping[str, Sequence[tuple[int, float]]],
    patch: pytest.MonkeyPatch,
    suffix: str = "",
    purge: int | None = None,
) -> None:
    """Write an event file as a process that began at `began` (in seconds) does; `purge` drops earlier points."""
    with patch.context() as clock:
        clock.setattr("time.time", lambda: began)
        with SummaryWriter(str(run / "tensorboard"), filename_suffix=suffix, purge_step=purge) as writer:
            for tag, points in events.items():
                for step, value in points:
                    writer.add_scalar(tag, value, step)


@pytest.fixture
def restarted_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Curves:
    """The curves of a run that was killed after step 35, resumed from step 20, and evaluated twice."""
    (tmp_path / "config.yaml").touch()
    before_the_kill = {
        "loss/train": [(10, 5.0), (20, 4.0), (30, 9.0), (35, 9.0)],
        "train/tokens_seen": [(10, 1e6), (20, 3e6), (30, 9e6)],
        "train/minutes": [(10, 1.0), (20, 2.0), (30, 3.0)],
    }
    after_the_restart = {
        "loss/train": [(30, 3.0), (40, 2.0)],
        "train/tokens_seen": [(30, 4e6), (40, 5e6)],
        "train/minutes": [(30, 2.5), (40, 3.5)],
        "quality/chrf": [(35, 50.0)],
    }
    write_events(tmp_path, 1_700_000_000, before_the_kill, monkeypatch)
    write_events(tmp_path, 1_700_050_000, after_the_restart, monkeypatch, purge=21)
    for began, score in ((1_700_060_000, 24.0), (1_700_070_000, 25.0)):
        evaluation = {"quality/test_chrf": [(20, score)]}
        write_events(tmp_path, began, evaluation, monkeypatch, TEST_SUFFIX)
    return read_curves(tmp_path)


@pytest.mark.parametrize(
    ("tag", "points"),
    [("loss/train", [(10, 5), (20, 4), (30, 3), (40, 2)]), ("quality/test_chrf", [(20, 25)])],
    ids=["lost steps are left out", "the last of two scores counts"],
)
def test_the_files_of_a_run_are_joined(tag: str, points: list[tuple[int, float]], restarted_run: Curves) -> None:
    assert list(zip(*(numbers.tolist() for numbers in restarted_run[tag]), strict=True)) == points


@pytest.mark.parametrize(
    ("tag", "over", "positions"),
    [
        ("loss/train", "minutes", [1, 2, 2.5, 3.5]),
        ("loss/train", "tokens", [1, 3, 4, 5]),
        ("quality/chrf", "minutes", [3]),
        ("quality/test_chrf", "minutes", [2]),
    ],
)
def test_points_are_placed_by_the_curve_of_the_horizontal_axis(
    restarted_run: Curves, tag: str, over: Over, positions: list[float]
) -> None:
    assert horizontal_positions(restarted_run, tag, over).tolist() == positions


@pytest.mark.parametrize("content", [None, b"this is no event file, whatever its name says"])
def test_a_run_without_events_is_refused(tmp_path: Path, content: bytes | None) -> None:
    (tmp_path / "config.yaml").touch()
    if content is not None:
        (tmp_path / "tensorboard").mkdir()
        (tmp_path / "tensorboard" / "events.out.tfevents.1.x").write_bytes(content)
    with pytest.raises(RunError, match=r"no events in .*tensorboard.*log_every"):
        read_curves(tmp_path)


def curve(*points: tuple[float, float]) -> tuple[Numbers, Numbers]:
    steps, values = np.array(points, dtype=np.float64).T
    return steps, values


A = {"loss/train": curve((10, 5), (20, 4)), "loss/validation": curve((20, 4.5)), "quality/chrf": curve((20, 30))}
B = {"loss/train": curve((10, 6), (20, 5.5)), "speed/padding": curve((10, 0.1))}


@pytest.mark.parametrize(
    ("metric", "tags"),
    [
        ("loss", ["loss/train", "loss/validation"]),
        ("chrf", ["quality/chrf"]),
        ("speed/padding", ["speed/padding"]),
    ],
)
def test_a_metric_selects_its_tags(metric: str, tags: list[str]) -> None:
    assert chosen_tags([A, B], metric) == tags


def test_an_unrecorded_metric_is_refused_with_the_recorded_ones() -> None:
    with pytest.raises(InputError, match="`bleu`; there are: loss/train, loss/validation, quality/chrf, speed/padding"):
        chosen_tags([A, B], "bleu")


def test_an_unrecorded_horizontal_axis_is_refused() -> None:
    with pytest.raises(RunError, match=r"a did not record train/tokens_seen; leave out --over"):
        curves_figure({"a": A}, ["loss"], "tokens")


@pytest.fixture(scope="module")
def figure() -> Figure:
    return curves_figure({"a": A, "b": B}, ["loss", "chrf"], smooth=2)


def test_a_panel_has_training_points_their_means_and_unsmoothed_validation(figure: Figure) -> None:
    loss, chrf = figure.axes
    lines = [np.asarray(line.get_ydata()).tolist() for line in loss.lines]
    assert lines == [[5, 4], [5, 4.5], [4.5], [6, 5.5], [6, 5.75]]
    assert np.asarray(chrf.lines[0].get_xydata()).tolist() == [[20, 30]]


def test_each_run_has_a_colour_and_the_legend_names_it(figure: Figure) -> None:
    first, *_, last = [line.get_color() for line in figure.axes[0].lines]
    assert first != last
    labels = [text.get_text().strip("\u202d\u202c") for text in figure.legends[0].get_texts()]
    assert labels == ["a", "b", "training"]
