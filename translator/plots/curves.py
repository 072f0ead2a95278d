"""Learning curves of several runs, by steps, tokens or time, from their TensorBoard event files."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import numpy.typing as npt

from translator.errors import InputError, RunError
from translator.plots import COLOURS, PAGE_INCHES, distinct, house_style, new_figure, shown
from translator.run.folder import RunFolder
from translator.run.storage import storage_errors

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Numbers = npt.NDArray[np.float64]
Over = Literal["steps", "tokens", "minutes"]
USUAL_METRICS: Final = ("loss", "bleu", "chrf")
_ACROSS: Final[Mapping[Over, tuple[str, str, float]]] = {
    "steps": ("update of the weights", "", 1),
    "tokens": ("target tokens, millions", "train/tokens_seen", 1e6),
    "minutes": ("minutes of training and validation", "train/minutes", 1),
}
"""Axis label, and the tag and unit of the curve that gives the axis value at each step."""
# Every scalar, and as little other data as TensorBoard allows (0 means all, 1 the last).
_SIZES: Final = {"scalars": 0, "images": 1, "tensors": 1, "histograms": 1, "audio": 1, "graph": 0, "meta_graph": 0}


@dataclass(frozen=True)
class RunCurves:
    """All curves of a run, (steps, values) by TensorBoard tag: `train/loss`, `validation/chrf`."""

    path: Path
    curves: Mapping[str, tuple[Numbers, Numbers]]

    def across(self, tag: str, over: Over) -> Numbers:
        """Return the horizontal positions of a curve's points; raise RunError if the run did not record them."""
        steps, (_, clock, unit) = self.curves[tag][0], _ACROSS[over]
        if not clock:
            return steps
        if clock not in self.curves:
            raise RunError(f"{self.path} did not record {clock}; leave out --over")
        known, values = self.curves[clock]
        positions: Numbers = np.interp(steps, [0.0, *known], [0.0, *values]) / unit
        return positions


def read_curves(path: Path | str) -> RunCurves:
    """Return the curves of the run at `path`, as TensorBoard shows them: without steps lost by a killed process."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # slow to import

    run = RunFolder.open(path)
    logging.getLogger("tensorboard").setLevel(logging.ERROR)  # avoids a warning for each folder without a graph
    events: Any = EventAccumulator(str(run.tensorboard_folder), size_guidance=_SIZES)
    with storage_errors(run.tensorboard_folder, "read"):
        if run.tensorboard_folder.is_dir():
            events.Reload()
    curves = {}
    for tag in events.Tags()["scalars"]:
        points = {event.step: event.value for event in events.Scalars(tag)}  # for a repeated step, the later value
        steps, values = np.array(sorted(points.items()), dtype=np.float64).T
        curves[tag] = steps, values
    if not curves:
        raise RunError(
            f"no events in {run.tensorboard_folder}, so there is no curve to draw; name a run trained for at least "
            "training.log_every steps"
        )
    return RunCurves(run.path, curves)


def chosen_tags(runs: Sequence[RunCurves], metric: str) -> list[str]:
    """Return the tags of a metric: `train/loss` and `validation/loss` for `loss`; a name with a slash is a tag."""
    there = {tag for run in runs for tag in run.curves}
    tags = [metric] if "/" in metric else [f"train/{metric}", f"validation/{metric}"]
    found = [tag for tag in tags if tag in there]
    if not found:
        raise InputError(f"no run has a curve of the metric `{metric}`; there are: {', '.join(sorted(there))}")
    return found


def smoothed(values: Numbers, count: int) -> Numbers:
    """Return, for each point, the mean of the last `count` points, or of all points so far if fewer."""
    means = [values[max(0, end - count) : end].mean() for end in range(1, len(values) + 1)]
    return np.array(means, dtype=np.float64)


@house_style()
def curves_figure(runs: Sequence[RunCurves], metrics: Sequence[str], over: Over = "steps", smooth: int = 1) -> "Figure":
    """Return a panel per metric, with a colour per run; training curves are dashed means of `smooth` points."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MaxNLocator

    panels = {metric: chosen_tags(runs, metric) for metric in metrics}
    columns = min(len(panels), 3)
    rows = -(-len(panels) // columns)
    figure = new_figure(PAGE_INCHES if columns < 3 else 9.0, 2.7 * rows + 0.4)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    for axes, (metric, tags) in zip(grid.flat, panels.items(), strict=False):
        drawn = [(number, run, tag) for number, run in enumerate(runs) for tag in tags if tag in run.curves]
        for number, run, tag in drawn:
            across, (_, values), colour = run.across(tag, over), run.curves[tag], COLOURS[number % len(COLOURS)]
            validation = tag.startswith(("validation", "test"))
            if smooth > 1 and not validation:
                axes.plot(across, values, color=colour, linewidth=0.7, alpha=0.3)
                values = smoothed(values, smooth)
            axes.plot(across, values, ".-" if validation else "--", color=colour)
        axes.set(xlabel=_ACROSS[over][0], ylabel=metric, xlim=(0, None))
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.xaxis.set_major_formatter("{x:,g}")
        axes.grid(True)
    names = distinct([run.path for run in runs])
    handles = [Line2D([], [], color=COLOURS[n % len(COLOURS)], label=shown(name)) for n, name in enumerate(names)]
    handles.append(Line2D([], [], color="#555555", linestyle="dashed", label="training"))
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 4))
    return figure
