"""The picture of how several runs learned, by steps, by tokens or by time."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from translator.errors import InputError
from translator.plots.event_files import Curve, Numbers, RunCurves
from translator.plots.figure import COLOURS, MARKERS, PAGE_INCHES, distinct, house_style, new_figure, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

LOGGER: Final = logging.getLogger("translator")

Over = Literal["steps", "tokens", "minutes"]

USUAL_METRICS: Final = ("loss", "bleu", "chrf")
_ACROSS: Final[Mapping[Over, str]] = {
    "steps": "update of the weights",
    "tokens": "target tokens, millions",
    "minutes": "minutes of training and validation",
}
_UNITS: Final = {
    "loss": "loss, nats a token",
    "perplexity": "perplexity",
    "bleu": "BLEU of the validation",
    "chrf": "chrF of the validation",
    "train/gradient_norm": "L2 norm of the gradient",
    "train/learning_rate": "learning rate",
    "speed/tokens_per_second": "target tokens a second",
}
_GROUPS: Final = ("train", "validation")
_GREY: Final = "#555555"
_MARKED: Final = 30
"""A curve of more points has none marked."""


@dataclass(frozen=True)
class Line:
    """One curve of one run in one panel."""

    run: int
    """Number of the run, from 0."""
    group: str
    """`train` or `validation`; of a curve that is named outright its whole name."""
    across: Numbers
    values: Numbers


@dataclass(frozen=True)
class MetricPanel:
    """All curves of one metric."""

    metric: str
    lines: Sequence[Line]


def metric_panels(runs: Sequence[RunCurves], metrics: Sequence[str], over: Over = "steps") -> list[MetricPanel]:
    """Return what is to be drawn of each metric.

    Args:
        runs: their curves.
        metrics: `loss` takes `train/loss` and `validation/loss`, whichever a run has; a name with a slash is that one.
        over: what runs across: `steps`, `tokens` (target tokens in millions) or `minutes`.

    Raises:
        InputError: no run has a curve of a metric.
        RunError: a run did not note its tokens.
    """
    places: dict[Over, Callable[[RunCurves, Curve], Numbers]] = {
        "steps": lambda run, curve: curve.steps,
        "tokens": lambda run, curve: run.tokens(curve.steps) / 1e6,
        "minutes": lambda run, curve: curve.minutes,
    }
    panels = []
    for metric in metrics:
        tags = {metric: metric} if "/" in metric else {f"{group}/{metric}": group for group in _GROUPS}
        lines = [
            Line(number, group, places[over](run, run.curves[tag]), run.curves[tag].values)
            for number, run in enumerate(runs)
            for tag, group in tags.items()
            if tag in run.curves
        ]
        if not lines:
            raise InputError(f"no run has a curve of the metric `{metric}`; there are: {', '.join(_known(runs))}")
        without = sorted(set(range(len(runs))) - {line.run for line in lines})
        if without:
            names = ", ".join(str(runs[number].path) for number in without)
            LOGGER.warning("no curve of %s to draw: %s", metric, names)
        panels.append(MetricPanel(metric, lines))
    return panels


def _known(runs: Sequence[RunCurves]) -> list[str]:
    """Return what can be asked for: the short names, and the groups below which whole names lie."""
    tags = {tag for run in runs for tag in run.curves}
    short = {tag.split("/", 1)[1] for tag in tags if tag.split("/")[0] in _GROUPS}
    groups = {tag.split("/")[0] for tag in tags} - set(_GROUPS)
    return [*sorted(short), *(f"{group}/..." for group in sorted(groups))]


def smoothed(values: Numbers, count: int) -> Numbers:
    """Return at each point the mean of the last `count` points, at the beginning of as many as there are."""
    sums = np.cumsum(np.concatenate([[0.0], values]))
    ends = np.arange(1, len(values) + 1)
    begins = np.maximum(ends - min(count, len(values)), 0)
    means: Numbers = (sums[ends] - sums[begins]) / (ends - begins)
    return means


@house_style()
def curves_figure(
    runs: Sequence[RunCurves], panels: Sequence[MetricPanel], over: Over = "steps", smooth: int = 1
) -> "Figure":
    """Return the picture of `panels`: a colour and a mark for each run; training dashed, the rest solid.

    Args:
        runs: whose they are.
        panels: from `metric_panels`.
        over: what runs across.
        smooth: training curves are drawn as means of so many points, over the points themselves in a paler line.
    """
    from matplotlib.ticker import MaxNLocator

    columns = min(len(panels), 3)
    rows = -(-len(panels) // columns)
    handles = _legend(runs, {line.group for panel in panels for line in panel.lines}, smooth)
    legend_columns = min(len(handles), 4)
    figure = new_figure(PAGE_INCHES if columns < 3 else 9.0, 2.7 * rows + 0.2 * -(-len(handles) // legend_columns))
    grid = figure.subplots(rows, columns, squeeze=False)
    furthest = max(float(line.across.max()) for panel in panels for line in panel.lines)
    for axes, panel in zip(grid.flat, panels, strict=False):
        for line in panel.lines:
            _draw(axes, line, smooth)
        axes.set(xlabel=_ACROSS[over], ylabel=_UNITS.get(panel.metric, panel.metric))
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.xaxis.set_major_formatter("{x:,g}")
        axes.yaxis.set_major_formatter("{x:,g}")
        axes.set_xlim(0, 1.04 * furthest)
        axes.grid(True)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    figure.legend(handles=handles, loc="outside lower center", ncols=legend_columns)
    return figure


def _legend(runs: Sequence[RunCurves], groups: Collection[str], smooth: int) -> "list[Line2D]":
    """Return what the legend shows: the runs, and what the forms of the lines mean."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=_colour(number), marker=MARKERS[number % len(MARKERS)], markersize=4, label=shown(name))
        for number, name in enumerate(distinct([run.path for run in runs]))
    ]
    if set(_GROUPS) <= set(groups):
        handles.append(Line2D([], [], color=_GREY, linestyle="dashed", label="training"))
        handles.append(Line2D([], [], color=_GREY, label="validation"))
    if smooth > 1 and set(groups) != {"validation"}:
        handles.append(
            Line2D([], [], color=_GREY, linewidth=0.7, alpha=0.4, label=f"before the mean of {smooth} points")
        )
    return handles


def _draw(axes: "Axes", line: Line, smooth: int) -> None:
    """Draw one curve."""
    training = line.group != "validation"
    colour = _colour(line.run)
    values = line.values
    if training and smooth > 1:
        axes.plot(line.across, values, color=colour, linewidth=0.7, alpha=0.3)
        values = smoothed(values, smooth)
    marked = not training and len(values) <= _MARKED
    axes.plot(
        line.across,
        values,
        color=colour,
        linestyle="dashed" if line.group == "train" else "solid",
        linewidth=1.1 if training else 1.6,
        marker=MARKERS[line.run % len(MARKERS)] if marked else None,
        markersize=4,
    )


def _colour(run: int) -> str:
    return COLOURS[run % len(COLOURS)]
