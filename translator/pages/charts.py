"""Small charts as SVG inside a page: their colours come from its style, so that light, dark and print all fit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from markupsafe import Markup

from translator.pages.chart_frame import ChartFrame, coordinate

_FRAME: Final = ChartFrame(right=10)
_STEPS: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25)
"""Between two lines of the grid."""
_GRID_LINES: Final = 4


class Tick(NamedTuple):
    """A mark on the horizontal axis."""

    place: float
    """In bins, from the left edge of the first."""
    label: str


@dataclass(frozen=True)
class Series:
    """One of the things that a histogram counts."""

    style: str
    """Class of the page's style, which gives the colour."""
    counts: Sequence[int]
    """In each bin."""


def histogram(
    series: Sequence[Series], *, identity: str, title: str, description: str, axis: str, ticks: Sequence[Tick]
) -> Markup:
    """Return a histogram of up to two series, drawn over each other, as shares of what each has counted.

    Args:
        identity, title, description, axis: see `ChartFrame.chart`.
        ticks: marks on it.
    """
    bins = len(series[0].counts)
    shares = [[count / max(sum(one.counts), 1) for count in one.counts] for one in series]
    step, highest = _scale(max(map(max, shares)))
    lines = [step * line for line in range(round(highest / step) + 1)]
    grid = [_FRAME.grid_line(share / highest, f"{coordinate(100 * share)}%") for share in lines]
    shapes = [
        Markup('<path class="{}" d="{}"/>').format(one.style, _outline(heights, highest))
        for one, heights in zip(series, shares, strict=True)
    ]
    marks = [_FRAME.tick(tick.place / bins, tick.label) for tick in ticks]
    return _FRAME.chart([*grid, *shapes, *marks], identity=identity, title=title, description=description, axis=axis)


def bar(parts: Sequence[tuple[str, float]]) -> Markup:
    """Return a bar of full width; each part has a class of the style and a share. Beside it stand the numbers."""
    shapes, start = [], 0.0
    for style, share in parts:
        shapes.append(
            Markup('<rect class="{}" x="{}" y="0" width="{}" height="8"/>').format(
                style, coordinate(1000 * start), coordinate(1000 * share)
            )
        )
        start += share
    return Markup(
        '<svg class="bar" viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true">{}</svg>'
    ).format(Markup("").join(shapes))


def _scale(largest: float) -> tuple[float, float]:
    """Return the distance of the grid lines and the height of the last: round shares, at most five lines."""
    step = next((step for step in _STEPS if largest <= step * _GRID_LINES), _STEPS[-1])
    lines = next(line for line in range(1, _GRID_LINES + 1) if largest <= step * line or line == _GRID_LINES)
    return step, step * lines


def _outline(shares: Sequence[float], highest: float) -> str:
    """Return the path around the columns, from the ground and back to it."""
    ground = coordinate(_FRAME.y(0))
    path = [f"M{coordinate(_FRAME.x(0))} {ground}"]
    for place, share in enumerate(shares, start=1):
        path.append(f"V{coordinate(_FRAME.y(share / highest))}H{coordinate(_FRAME.x(place / len(shares)))}")
    return "".join([*path, f"V{ground}Z"])
