"""Learning curves of several runs: read from event files, selected by metric, drawn."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from torch.utils.tensorboard import SummaryWriter

from translator.errors import InputError, RunError
from translator.plots.curves import RunCurves, chosen_tags, curves_figure, read_curves, smoothed
from translator.training.event_file import TEST_SUFFIX


def write_events(
    run: Path, began: int, events: Mapping[str, Sequence[tuple[int, float]]], patch: pytest.MonkeyPatch,
    suffix: str = "", purge: int | None = None,
) -> None:  # fmt: skip
    with patch.context() as clock:
        clock.setattr("time.time", lambda: began)
        with SummaryWriter(str(run / "tensorboard"), filename_suffix=suffix, purge_step=purge) as writer:
            for tag, points in events.items():
                for step, value in points:
                    writer.add_scalar(tag, value, step)


def test_curves_join_restarts_and_leave_out_lost_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.yaml").touch()
    first = {
        "train/loss": [(10, 5.0), (20, 4.0), (30, 9.0), (35, 9.0)],
        "train/tokens_seen": [(10, 1e6), (20, 3e6), (30, 9e6)],
        "train/minutes": [(10, 1.0), (20, 2.0), (30, 3.0)],
    }
    second = {
        "train/loss": [(30, 3.0), (40, 2.0)],
        "train/tokens_seen": [(30, 4e6), (40, 5e6)],
        "train/minutes": [(30, 2.5), (40, 3.5)],
        "validation/chrf": [(35, 50.0)],
    }
    write_events(tmp_path, 1_700_000_000, first, monkeypatch)
    write_events(tmp_path, 1_700_050_000, second, monkeypatch, purge=21)
    for began, score in ((1_700_060_000, 24.0), (1_700_070_000, 25.0)):
        write_events(tmp_path, began, {"test/chrf": [(20, score)]}, monkeypatch, TEST_SUFFIX)
    run = read_curves(tmp_path)
    assert [column.tolist() for column in run.curves["train/loss"]] == [[10, 20, 30, 40], [5, 4, 3, 2]]
    assert run.across("train/loss", "minutes").tolist() == [1, 2, 2.5, 3.5]
    assert run.across("train/loss", "tokens").tolist() == [1, 3, 4, 5]
    assert run.across("validation/chrf", "minutes").tolist() == [3]
    assert [column.tolist() for column in run.curves["test/chrf"]] == [[20], [25]], "the last score counts"
    assert run.across("test/chrf", "minutes").tolist() == [2]


def test_curves_of_a_trained_run_are_available_over_tokens_and_minutes(trained_folder: Path) -> None:
    run = read_curves(trained_folder / "run")
    for over in ("tokens", "minutes"):
        across = run.across("validation/chrf", over).tolist()
        assert 0 < across[0] < across[1]


def test_a_missing_run_or_a_run_without_events_is_refused(tmp_path: Path, trained_folder: Path) -> None:
    with pytest.raises(RunError, match="no run at"):
        read_curves(tmp_path / "nothing")
    shutil.copy(trained_folder / "run" / "config.yaml", tmp_path)
    for content in (None, b"this is no event file, whatever its name says"):
        if content is not None:
            (tmp_path / "tensorboard").mkdir()
            (tmp_path / "tensorboard" / "events.out.tfevents.1.x").write_bytes(content)
        with pytest.raises(RunError, match=r"no events in .*tensorboard.*log_every"):
            read_curves(tmp_path)


def curve(*points: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    steps, values = np.array(points).T
    return steps, values


A = RunCurves(
    Path("runs/a"),
    {"train/loss": curve((10, 5), (20, 4)), "validation/loss": curve((20, 4.5)), "validation/chrf": curve((20, 30))},
)
B = RunCurves(Path("runs/b"), {"train/loss": curve((10, 6), (20, 5.5)), "speed/padding": curve((10, 0.1))})


def test_a_metric_selects_its_tags_and_an_unrecorded_one_is_refused() -> None:
    assert chosen_tags([A, B], "loss") == ["train/loss", "validation/loss"]
    assert chosen_tags([B], "speed/padding") == ["speed/padding"]
    assert chosen_tags([A, B], "chrf") == ["validation/chrf"]
    with pytest.raises(InputError, match="`bleu`; there are: speed/padding, train/loss, validation/chrf"):
        chosen_tags([A, B], "bleu")
    with pytest.raises(RunError, match=r"did not record train/tokens_seen; leave out --over"):
        A.across("train/loss", "tokens")


def test_smoothing_is_the_mean_of_the_last_points() -> None:
    values = np.array([4.0, 2.0, 6.0, 0.0])
    assert smoothed(values, 1).tolist() == [4, 2, 6, 0]
    assert smoothed(values, 2).tolist() == [4, 3, 4, 3]
    assert smoothed(values, 9).tolist() == [4, 3, 4, 3]


def test_the_picture_has_a_panel_for_each_metric_and_a_colour_for_each_run() -> None:
    figure = curves_figure([A, B], ["loss", "chrf"], smooth=2)
    loss, chrf = figure.axes
    drawn = [np.asarray(line.get_ydata()).tolist() for line in loss.lines]
    assert drawn == [[5, 4], [5, 4.5], [4.5], [6, 5.5], [6, 5.75]], "points, then their means; validation unsmoothed"
    colours = [line.get_color() for line in loss.lines]
    assert len(set(colours[:3])) == len(set(colours[3:])) == 1
    assert colours[0] != colours[3]
    assert np.asarray(chrf.lines[0].get_xydata()).tolist() == [[20, 30]]
    labels = [text.get_text().strip("\u202d\u202c") for text in figure.legends[0].get_texts()]
    assert labels == ["a", "b", "training"]
