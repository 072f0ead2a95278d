"""Learning curves of several runs, by steps, tokens or time, from their TensorBoard event files."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from translator.errors import InputError, RunError
from translator.plots.style import PAGE_INCHES, as_label, colour_of, distinct_names, house_style, new_figure
from translator.run.files import storage_errors
from translator.run.folder import RunFolder

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Numbers = npt.NDArray[np.float64]
Over = Literal["steps", "tokens", "minutes"]
USUAL_METRICS: Final = ("loss", "bleu", "chrf")
# Every scalar, and as little other data as TensorBoard allows (0 means all, 1 the last).
_SIZES: Final = {"scalars": 0, "images": 1, "tensors": 1, "histograms": 1, "audio": 1, "graph": 0, "meta_graph": 0}
_MAX_COLUMNS: Final = 3  # panels side by side
_MAX_LEGEND_COLUMNS: Final = 4


class _HorizontalAxis(NamedTuple):
    """A horizontal axis, and the curve that gives its value at each step."""

    label: str
    tag: str  # of that curve; empty if the steps are the values
    unit: float  # by which the values are divided


_HORIZONTAL_AXES: Final[Mapping[Over, _HorizontalAxis]] = {
    "steps": _HorizontalAxis("update of the weights", tag="", unit=1),
    "tokens": _HorizontalAxis("target tokens, millions", tag="train/tokens_seen", unit=1e6),
    "minutes": _HorizontalAxis("minutes of training and validation", tag="train/minutes", unit=1),
}


class Curve(NamedTuple):
    """The points of a curve."""

    steps: Numbers
    values: Numbers


@dataclass(frozen=True)
class RunCurves:
    """All curves of a run by TensorBoard tag: `loss/train`, `quality/chrf`."""

    path: Path
    curves: Mapping[str, Curve]

    def across(self, tag: str, over: Over) -> Numbers:
        """Return the horizontal positions of a curve's points; raise RunError if the run did not record them."""
        steps = self.curves[tag].steps
        axis = _HORIZONTAL_AXES[over]
        if not axis.tag:
            return steps
        if axis.tag not in self.curves:
            raise RunError(f"{self.path} did not record {axis.tag}; leave out --over")
        # The run recorded the axis at other steps than the curve; it is 0 at step 0.
        clock = self.curves[axis.tag]
        positions: Numbers = np.interp(steps, [0.0, *clock.steps], [0.0, *clock.values]) / axis.unit
        return positions


def read_curves(path: Path | str) -> RunCurves:
    """Return the curves of the run at `path`, as TensorBoard shows them: without steps lost by a killed process.

    Raises RunError: the folder holds no run, or the run has no events.
    """
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # slow to import

    run = RunFolder.open(path)
    logging.getLogger("tensorboard").setLevel(logging.ERROR)  # avoids a warning for each folder without a graph
    events: Any = EventAccumulator(str(run.tensorboard_folder), size_guidance=_SIZES)
    with storage_errors(run.tensorboard_folder, "read"):
        if run.tensorboard_folder.is_dir():
            events.Reload()

    # An event file holds a curve's points in the order in which they were written.
    curves = {}
    for tag in events.Tags()["scalars"]:
        points = {event.step: event.value for event in events.Scalars(tag)}  # for a repeated step, the later value
        steps, values = np.array(sorted(points.items()), dtype=np.float64).T
        curves[tag] = Curve(steps=steps, values=values)
    if not curves:
        raise RunError(
            f"no events in {run.tensorboard_folder}, so there is no curve to draw; name a run trained for at least "
            "training.log_every steps"
        )
    return RunCurves(path=run.path, curves=curves)


def chosen_tags(runs: Sequence[RunCurves], metric: str) -> list[str]:
    """Return the tags of a metric: `loss/train` and `loss/validation` for `loss`; a name with a slash is a tag.

    Raises InputError: no run has such a curve.
    """
    available_tags: set[str] = set()
    for run in runs:
        available_tags.update(run.curves)
    groups = ("quality", "train", "validation")
    possible_tags = [f"{metric}/train", f"{metric}/validation", *(f"{group}/{metric}" for group in groups)]
    if "/" in metric:
        possible_tags = [metric]
    tags = [tag for tag in possible_tags if tag in available_tags]
    if not tags:
        choices = ", ".join(sorted(available_tags))
        raise InputError(f"no run has a curve of the metric `{metric}`; there are: {choices}")
    return tags


def smoothed(values: Numbers, count: int) -> Numbers:
    """Return, for each point, the mean of the last `count` points, or of all points so far if fewer."""
    means = [values[max(0, end - count) : end].mean() for end in range(1, len(values) + 1)]
    return np.array(means, dtype=np.float64)


@house_style()
def curves_figure(runs: Sequence[RunCurves], metrics: Sequence[str], over: Over = "steps", smooth: int = 1) -> "Figure":
    """Return a panel per metric, with a colour per run; training curves are dashed means of `smooth` points.

    Args:
        runs: with the curves.
        metrics: names or tags, see `chosen_tags`.
        over: the horizontal axis.
        smooth: number of points, at least 1 (no smoothing).

    Raises:
        InputError: no run has a curve of a metric.
        RunError: a run did not record the horizontal axis.
    """
    from matplotlib.ticker import MaxNLocator

    # 1. Lay out the panels.
    tags_of_metric = {metric: chosen_tags(runs, metric) for metric in metrics}
    columns = min(len(tags_of_metric), _MAX_COLUMNS)
    rows = -(-len(tags_of_metric) // columns)
    figure = new_figure(PAGE_INCHES if columns < _MAX_COLUMNS else 9.0, 2.7 * rows + 0.4)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat[len(tags_of_metric) :]:
        axes.set_visible(False)

    # 2. Draw the curves of each metric.
    for axes, (metric, tags) in zip(grid.flat, tags_of_metric.items(), strict=False):
        for number, run in enumerate(runs):
            for tag in tags:
                if tag in run.curves:
                    _draw_curve(axes, run, tag, over, smooth, colour_of(number))
        axes.set(xlabel=_HORIZONTAL_AXES[over].label, ylabel=metric, xlim=(0, None))
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.xaxis.set_major_formatter("{x:,g}")
        axes.grid(True)

    # 3. Name the runs below the panels.
    _draw_run_legend(figure, runs)
    return figure


def _draw_curve(axes: "Axes", run: RunCurves, tag: str, over: Over, smooth: int, colour: str) -> None:
    """Draw a curve: validation and test scores as points, training as a dashed mean above its faint points."""
    positions = run.across(tag, over)
    values = run.curves[tag].values
    if tag.startswith(("quality", "validation", "test")) or tag == "loss/validation":
        axes.plot(positions, values, ".-", color=colour)
        return
    if smooth > 1:
        axes.plot(positions, values, color=colour, linewidth=0.7, alpha=0.3)
        values = smoothed(values, smooth)
    axes.plot(positions, values, "--", color=colour)


def _draw_run_legend(figure: "Figure", runs: Sequence[RunCurves]) -> None:
    from matplotlib.lines import Line2D

    handles = []
    for number, name in enumerate(distinct_names([run.path for run in runs])):
        handles.append(Line2D([], [], color=colour_of(number), label=as_label(name)))
    handles.append(Line2D([], [], color="#555555", linestyle="dashed", label="training"))
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), _MAX_LEGEND_COLUMNS))
