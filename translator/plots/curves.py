"""Learning curves of several runs, by steps, tokens or time, from their TensorBoard event files."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from translator.errors import InputError, RunError
from translator.plots.picture import PAGE_INCHES, colour_of, house_style
from translator.run.folder import RunFolder

Values = npt.NDArray[np.float64]
Curves = Mapping[str, tuple[Values, Values]]
"""The steps and the values of each curve of a run, by TensorBoard tag: `loss/train`, `quality/chrf`."""
Over = Literal["steps", "tokens", "minutes"]
USUAL_METRICS: Final = ("loss", "bleu", "chrf")
_PANEL_INCHES: Final = 3.0  # smallest width of a panel
_LABELS: Final = {
    "steps": "update of the weights",
    "tokens": "target tokens, millions",
    "minutes": "minutes of training and validation",
}
_CLOCKS: Final = {"tokens": ("train/tokens_seen", 1e6), "minutes": ("train/minutes", 1.0)}
"""The curve that gives the horizontal position at each step, and the unit by which its values are divided."""


def read_curves(path: Path | str) -> Curves:
    """Return the curves of the run at `path`, as TensorBoard shows them: without steps lost by a killed process.

    Raises RunError: the folder holds no run, or the run has no events.
    """
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # slow to import

    # 1. Read the events of the run; a run without events has no folder.
    run = RunFolder.open(path)
    logging.getLogger("tensorboard").setLevel(logging.ERROR)  # avoids a warning for each folder without a graph
    events: Any = EventAccumulator(str(run.tensorboard_folder), size_guidance={"scalars": 0})  # 0 means all
    if run.tensorboard_folder.is_dir():
        events.Reload()

    # 2. Make a curve of each tag. Its events are in the order of writing, so of a repeated step the later value stays.
    curves = {}
    for tag in events.Tags()["scalars"]:
        value_of_step = {event.step: event.value for event in events.Scalars(tag)}
        points = np.array(sorted(value_of_step.items()), dtype=np.float64)  # (points, 2)
        steps, values = points.T
        curves[tag] = steps, values
    if not curves:
        raise RunError(
            f"no events in {run.tensorboard_folder}, so there is no curve to draw; name a run trained for at least "
            "training.log_every steps"
        )
    return curves


def chosen_tags(runs: Sequence[Curves], metric: str) -> list[str]:
    """Return the tags of a metric: `loss/train` and `loss/validation` for `loss`; a whole tag means itself.

    Raises InputError: no run has such a curve.
    """
    available_tags = sorted(set().union(*runs))
    # A metric is one of the two parts of a tag: `loss` of `loss/train`, `chrf` of `quality/chrf`.
    tags = [tag for tag in available_tags if tag == metric or (tag.count("/") == 1 and metric in tag.split("/"))]
    if not tags:
        choices = ", ".join(available_tags)
        raise InputError(f"no run has a curve of the metric `{metric}`; there are: {choices}")
    return tags


def horizontal_positions(curves: Curves, tag: str, over: Over) -> Values:
    """Return the horizontal positions of a curve's points."""
    steps, _ = curves[tag]
    if over == "steps":
        return steps
    clock, unit = _CLOCKS[over]
    # The run recorded its clock at other steps than the curve; it is 0 at step 0.
    clock_steps, clock_values = curves[clock]
    positions: Values = np.interp(steps, [0.0, *clock_steps], [0.0, *clock_values]) / unit
    return positions


def smoothed(values: Values, count: int) -> Values:
    """Return, for each point, the mean of the last `count` points, or of all points so far if fewer."""
    means = [values[max(0, end - count) : end].mean() for end in range(1, len(values) + 1)]
    return np.array(means, dtype=np.float64)


@house_style()
def curves_figure(runs: Mapping[str, Curves], metrics: Sequence[str], over: Over = "steps", smooth: int = 1) -> Figure:
    """Return a panel per metric, with a colour per run; training curves are dashed means of `smooth` points.

    Args:
        runs: the curves of each run, by its name.
        metrics: names or tags, see `chosen_tags`.
        over: the horizontal axis.
        smooth: number of points, at least 1 (no smoothing).

    Raises:
        InputError: no run has a curve of a metric.
        RunError: a run did not record the horizontal axis.
    """
    # 1. Every run must have the clock of the horizontal axis.
    if over != "steps":
        clock, _ = _CLOCKS[over]
        for name, curves in runs.items():
            if clock not in curves:
                raise RunError(f"{name} did not record {clock}; leave out --over")

    # 2. Draw the curves of each metric in its panel.
    figure = Figure(figsize=(max(PAGE_INCHES, _PANEL_INCHES * len(metrics)), 3.1))
    (panels,) = figure.subplots(1, len(metrics), squeeze=False)
    for axes, metric in zip(panels, metrics, strict=True):
        tags = chosen_tags(list(runs.values()), metric)
        for number, curves in enumerate(runs.values()):
            for tag in tags:
                if tag in curves:
                    _draw_curve(axes, curves, tag, over, smooth, colour_of(number))
        axes.set(xlabel=_LABELS[over], ylabel=metric, xlim=(0, None))
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.xaxis.set_major_formatter("{x:,g}")
        axes.grid(True)

    # 3. Name the runs below the panels.
    handles = []
    for number, name in enumerate(runs):
        handles.append(Line2D([], [], color=colour_of(number), label=name))
    handles.append(Line2D([], [], color="#555555", linestyle="dashed", label="training"))
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 4))
    return figure


def _draw_curve(axes: Axes, curves: Curves, tag: str, over: Over, smooth: int, colour: str) -> None:
    """Draw a curve: validation and test scores as points, training as a dashed mean above its faint points."""
    positions = horizontal_positions(curves, tag, over)
    _, values = curves[tag]
    if tag.startswith(("quality", "validation", "test")) or tag == "loss/validation":
        axes.plot(positions, values, ".-", color=colour)
        return
    if smooth > 1:
        axes.plot(positions, values, color=colour, linewidth=0.7, alpha=0.3)
        values = smoothed(values, smooth)
    axes.plot(positions, values, "--", color=colour)
