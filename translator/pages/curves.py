"""Charts of curves over steps: told apart by colour, by the form of the line and by its points."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from translator.pages.chart_frame import ChartFrame, coordinate

_FRAME: Final = ChartFrame(right=22)
_LINES: Final = 4
"""Of the grid, at most, and one more at the ground."""
_MARKED: Final = 40
"""A curve of more points has none marked."""


@dataclass(frozen=True)
class Curve:
    """One line of a chart."""

    style: str
    """Class of the page's style, which gives the colour and the form of the line."""
    points: Sequence[tuple[int, float]]
    """In order from left to right; all finite."""


def curve_chart(curves: Sequence[Curve], *, identity: str, title: str, description: str, axis: str) -> Markup:
    """Return a chart of `curves`, at least one of which has a point.

    Args:
        identity, title, description, axis: see `ChartFrame.chart`.
    """
    values = [value for curve in curves for _, value in curve.points]
    ground, step, lines = _scale(min(values), max(values))
    last = max(max(place for place, _ in curve.points) for curve in curves if curve.points)
    across = _step(last, _LINES + 1)

    def point(place: float, value: float) -> tuple[str, str]:
        x, y = _FRAME.x(place / max(last, 1)), _FRAME.y((value - ground) / (step * lines))
        return coordinate(x), coordinate(y)

    parts = []
    for line in range(lines + 1):
        value = ground + step * line
        parts.append(_FRAME.grid_line(line / lines, f"{value:g}" if abs(value) > step / 2 else "0"))
    for number in range(int(last / across) + 1):
        parts.append(_FRAME.tick(number * across / max(last, 1), f"{number * across:,.0f}"))
    for curve in curves:
        points = [point(*one) for one in curve.points]
        if points:
            path = "L".join(map(" ".join, points))
            parts.append(Markup('<path class="{}" d="M{}"/>').format(f"curve {curve.style}", path))
        if len(points) <= _MARKED:
            parts += [
                Markup('<circle class="{}" cx="{}" cy="{}" r="3"/>').format(f"point {curve.style}", x, y)
                for x, y in points
            ]
    return _FRAME.chart(parts, identity=identity, title=title, description=description, axis=axis)


def _scale(lowest: float, highest: float) -> tuple[float, float, int]:
    """Return the value at the ground, the distance of the grid's lines and their number; all values lie between.

    The ground is zero, unless all values are far above it or some are below.
    """
    if 0 <= lowest <= 0.7 * highest:
        lowest = 0.0
    step = _step(highest - lowest or abs(highest) or 1.0, _LINES)
    ground = math.floor(lowest / step) * step
    lines = max(math.ceil((highest - ground) / step - 1e-9), 1)
    return ground, step, lines


def _step(span: float, most: int) -> float:
    """Return a round number of which at most `most` go into `span`, rounded up."""
    power = 10.0 ** math.floor(math.log10(max(span, 1e-9) / most))
    return next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor * most >= span * (1 - 1e-9))
