"""What a run told TensorBoard, read back from its event files: all points of all curves, sitting by sitting."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from translator.errors import RunError
from translator.run_folder import RunFolder
from translator.storage import storage_errors
from translator.training.monitor import TEST_SUFFIX

Numbers = npt.NDArray[np.float64]
_Point = tuple[float, float, float]  # step, value, minutes

TOKENS_SEEN: Final = "train/tokens_seen"
_EVERYTHING: Final = {"scalars": 0, "images": 1, "tensors": 1, "histograms": 1, "audio": 1, "graph": 0, "meta_graph": 0}
"""Of scalars every point, of the rest as little as can be: 0 means all, 1 the last."""


@dataclass(frozen=True)
class Curve:
    """One curve of a run, by step."""

    steps: Numbers
    values: Numbers
    minutes: Numbers
    """Of training and validation until the point, all sittings together; the time between two sittings is left out.

    A test score stands where the training was at its step, whenever it was measured.
    """


@dataclass(frozen=True)
class RunCurves:
    """All curves of a run."""

    path: Path
    curves: Mapping[str, Curve]
    """By the name that TensorBoard shows: `train/loss`, `validation/chrf`."""

    def tokens(self, steps: Numbers) -> Numbers:
        """Return the target tokens trained on until each step, between two reports along a straight line.

        Raises:
            RunError: the run did not note them.
        """
        seen = self.curves.get(TOKENS_SEEN)
        if seen is None:
            raise RunError(
                f"{self.path} did not note its target tokens, as older runs did not; take --over steps or minutes"
            )
        tokens: Numbers = np.interp(steps, [0.0, *seen.steps], [0.0, *seen.values])
        return tokens


def read_curves(path: Path | str) -> RunCurves:
    """Return the curves of the run at `path`.

    Steps that were lost with a killed process, and taken again, count as they were taken last.

    Raises:
        RunError: there is no run, it has no events, or an event file cannot be read.
        StorageError: the folder may not be read.
    """
    run = RunFolder.open(path)
    with storage_errors(run.tensorboard_folder, "read"):
        files = sorted(run.tensorboard_folder.glob("*tfevents*"))
    points: dict[str, list[_Point]] = {}
    clock = 0.0  # minutes until the last point that counts
    evaluations = [file for file in files if file.name.endswith(TEST_SUFFIX)]
    for file in (file for file in files if file not in evaluations):  # by the time at which the sitting began
        began, sitting = _read(file)
        first = min((row[0][0] for row in sitting.values()), default=None)
        if first is None:
            continue
        points = {tag: [point for point in of_tag if point[0] < first] for tag, of_tag in points.items()}
        clock = max((point[2] for of_tag in points.values() for point in of_tag), default=0.0)
        for tag, of_tag in sitting.items():
            points.setdefault(tag, []).extend(
                (step, value, clock + (wall - began) / 60) for step, value, wall in of_tag
            )
    points |= _test_points(evaluations, points)
    curves = {tag: Curve(*np.array(of_tag, dtype=np.float64).T) for tag, of_tag in points.items() if of_tag}
    if not curves:
        raise RunError(
            f"no events in {run.tensorboard_folder}, so there is no curve to draw; name a run that has been trained "
            "for training.log_every steps at least"
        )
    return RunCurves(run.path, curves)


def _test_points(files: list[Path], trained: Mapping[str, list[_Point]]) -> dict[str, list[_Point]]:
    """Return the scores that evaluations added to the curves `trained`, the last of each step."""
    scores: dict[str, dict[float, float]] = {}
    for file in files:
        for tag, of_tag in _read(file)[1].items():
            scores.setdefault(tag, {}).update({step: value for step, value, _ in of_tag})
    known = sorted({(step, minutes) for of_tag in trained.values() for step, _, minutes in of_tag})
    steps, minutes = zip(*known, strict=True) if known else ((0.0,), (0.0,))
    return {
        tag: [(step, value, float(np.interp(step, steps, minutes))) for step, value in sorted(of_tag.items())]
        for tag, of_tag in scores.items()
    }


def _read(file: Path) -> tuple[float, dict[str, list[tuple[float, float, float]]]]:
    """Return when a sitting began, and step, value and wall time, in seconds, of each point of its curves.

    Raises:
        RunError: the file is no event file, or it is damaged.
    """
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # slow to import

    logging.getLogger("tensorboard").setLevel(logging.ERROR)  # it tells of every folder without a graph
    events: Any = EventAccumulator(str(file), size_guidance=_EVERYTHING, purge_orphaned_data=False)
    with storage_errors(file, "read"):
        events.Reload()
    tags = events.Tags()["scalars"]
    if not tags:
        return 0.0, {}
    return events.FirstEventTimestamp(), {
        tag: [(event.step, event.value, event.wall_time) for event in events.Scalars(tag)] for tag in tags
    }
