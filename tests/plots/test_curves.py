"""Learning curves of several runs: read from event files, selected by metric, drawn."""

from pathlib import Path

import numpy as np
import pytest
from torch.utils.tensorboard import SummaryWriter

from translator.errors import InputError, RunError
from translator.plots.curves import (
    Values,
    chosen_tags,
    curves_figure,
    horizontal_positions,
    read_curves,
)
from translator.training.monitoring.event_file import TEST_SUFFIX


def test_the_files_of_a_run_are_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process was killed after step 35, another one went on from step 20, and two evaluations followed."""
    (tmp_path / "config.yaml").touch()
    files: list[tuple[int | None, str, list[tuple[int, float]]]] = [
        (None, "loss/train", [(10, 5.0), (20, 4.0), (30, 9.0), (35, 9.0)]),
        (21, "loss/train", [(30, 3.0), (40, 2.0)]),
        (None, "quality/test_chrf", [(20, 24.0), (20, 25.0)]),
    ]
    for began, (purge, tag, points) in enumerate(files, start=1_700_000_000):
        monkeypatch.setattr("time.time", lambda began=began: began)
        with SummaryWriter(str(tmp_path / "tensorboard"), filename_suffix=TEST_SUFFIX, purge_step=purge) as writer:
            for step, value in points:
                writer.add_scalar(tag, value, step)
    curves = read_curves(tmp_path)
    steps, values = curves["loss/train"]
    assert list(zip(steps, values, strict=True)) == [(10, 5), (20, 4), (30, 3), (40, 2)], "lost steps are left out"
    assert curves["quality/test_chrf"][1] == [25], "the last of two scores counts"


def test_a_run_without_events_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").touch()
    with pytest.raises(RunError, match=r"no events in .*tensorboard.*log_every"):
        read_curves(tmp_path)


def curve(*points: tuple[float, float]) -> tuple[Values, Values]:
    steps, values = np.array(points, dtype=np.float64).T
    return steps, values


A = {"loss/train": curve((10, 5), (20, 4)), "loss/validation": curve((20, 4.5)), "quality/chrf": curve((20, 30))}
B = {"loss/train": curve((10, 6), (20, 5.5)), "speed/padding": curve((10, 0.1))}


def test_points_are_placed_by_the_curve_of_the_horizontal_axis() -> None:
    curves = {"train/tokens_seen": curve((10, 1e6), (20, 3e6)), "loss/train": curve((5, 1), (15, 1), (20, 1))}
    assert horizontal_positions(curves, "loss/train", "tokens").tolist() == [0.5, 2, 3]
    assert horizontal_positions(curves, "loss/train", "steps").tolist() == [5, 15, 20]


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
