"""Learning curves of several runs: read from event files, selected by metric, drawn."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from torch.utils.tensorboard import SummaryWriter

from translator.errors import InputError, RunError
from translator.plots.curves import (
    Curves,
    Numbers,
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
        write_events(tmp_path, began, {"quality/test_chrf": [(20, score)]}, monkeypatch, TEST_SUFFIX)
    return read_curves(tmp_path)


def test_the_files_of_a_run_are_joined_and_their_points_placed(restarted_run: Curves) -> None:
    steps, values = restarted_run["loss/train"]
    assert list(zip(steps, values, strict=True)) == [(10, 5), (20, 4), (30, 3), (40, 2)], "lost steps are left out"
    assert restarted_run["quality/test_chrf"][1] == [25], "the last of two scores counts"
    assert horizontal_positions(restarted_run, "loss/train", "tokens").tolist() == [1, 3, 4, 5]
    assert horizontal_positions(restarted_run, "quality/chrf", "minutes").tolist() == [3], "between two points"


def test_a_run_without_events_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").touch()
    with pytest.raises(RunError, match=r"no events in .*tensorboard.*log_every"):
        read_curves(tmp_path)


def curve(*points: tuple[float, float]) -> tuple[Numbers, Numbers]:
    steps, values = np.array(points, dtype=np.float64).T
    return steps, values


A = {"loss/train": curve((10, 5), (20, 4)), "loss/validation": curve((20, 4.5)), "quality/chrf": curve((20, 30))}
B = {"loss/train": curve((10, 6), (20, 5.5)), "speed/padding": curve((10, 0.1))}


def test_a_metric_selects_its_tags() -> None:
    assert chosen_tags([A, B], "loss") == ["loss/train", "loss/validation"]
    assert chosen_tags([A, B], "speed/padding") == ["speed/padding"]
    with pytest.raises(InputError, match="`bleu`; there are: loss/train, loss/validation, quality/chrf, speed/padding"):
        chosen_tags([A, B], "bleu")
    with pytest.raises(RunError, match=r"a did not record train/tokens_seen; leave out --over"):
        curves_figure({"a": A}, ["loss"], "tokens")


def test_panels_have_a_colour_for_each_run_training_points_their_means_and_validation() -> None:
    figure = curves_figure({"a": A, "b": B}, ["loss", "chrf"], smooth=2)
    loss, chrf = figure.axes
    lines = [np.asarray(line.get_ydata()).tolist() for line in loss.lines]
    assert lines == [[5, 4], [5, 4.5], [4.5], [6, 5.5], [6, 5.75]]
    assert np.asarray(chrf.lines[0].get_xydata()).tolist() == [[20, 30]]
    first, *_, last = [line.get_color() for line in loss.lines]
    assert first != last
    labels = [text.get_text().strip("\u202d\u202c") for text in figure.legends[0].get_texts()]
    assert labels == ["a", "b", "training"]
