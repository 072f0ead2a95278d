"""Charts of curves over steps: told apart by colour, by the form of the line and by its points."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from translator.pages.charts import HEIGHT, WIDTH
from translator.pages.visible import plain

_LEFT: Final = 46
_RIGHT: Final = 22
_TOP: Final = 12
_BOTTOM: Final = 40
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
        identity: unlike that of any other chart of the page; letters, digits and hyphens.
        title: what the chart shows, for those who cannot see it and for a tooltip.
        description: what one sees in it, in words.
        axis: the name of the horizontal axis.
    """
    values = [value for curve in curves for _, value in curve.points]
    ground, step, lines = _scale(min(values), max(values))
    last = max(max(place for place, _ in curve.points) for curve in curves if curve.points)
    across = _step(last, _LINES + 1)

    def x(place: float) -> float:
        return _LEFT + place / max(last, 1) * (WIDTH - _LEFT - _RIGHT)

    def y(value: float) -> float:
        return HEIGHT - _BOTTOM - (value - ground) / (step * lines) * (HEIGHT - _BOTTOM - _TOP)

    parts = []
    for line in range(lines + 1):
        value = ground + step * line
        parts.append(
            Markup(
                '<line class="{}" x1="{}" x2="{}" y1="{}" y2="{}"/>'
                '<text class="tick" x="{}" y="{}" dy="0.32em" text-anchor="end">{}</text>'
            ).format(
                "grid" if line else "ground",
                _LEFT,
                WIDTH - _RIGHT,
                _coordinate(y(value)),
                _coordinate(y(value)),
                _LEFT - 6,
                _coordinate(y(value)),
                f"{value:g}" if abs(value) > step / 2 else "0",
            )
        )
    for number in range(int(last / across) + 1):
        parts.append(
            Markup('<text class="tick" x="{}" y="{}" text-anchor="middle">{}</text>').format(
                _coordinate(x(number * across)), HEIGHT - _BOTTOM + 15, f"{number * across:,.0f}"
            )
        )
    for curve in curves:
        path = "L".join(f"{_coordinate(x(place))} {_coordinate(y(value))}" for place, value in curve.points)
        if path:
            parts.append(Markup('<path class="{}" d="M{}"/>').format(f"curve {curve.style}", path))
        if len(curve.points) <= _MARKED:
            parts += [
                Markup('<circle class="{}" cx="{}" cy="{}" r="3"/>').format(
                    f"point {curve.style}", _coordinate(x(place)), _coordinate(y(value))
                )
                for place, value in curve.points
            ]
    return Markup(
        '<svg class="chart" viewBox="0 0 {width} {height}" role="img" aria-labelledby="{identity}-t {identity}-d">'
        '<title id="{identity}-t">{title}</title><desc id="{identity}-d">{description}</desc>'
        '{parts}<text class="axis" x="{middle}" y="{foot}" text-anchor="middle">{axis}</text></svg>'
    ).format(
        width=WIDTH,
        height=HEIGHT,
        identity=identity,
        title=plain(title),
        description=plain(description),
        parts=Markup("").join(parts),
        middle=_coordinate((_LEFT + WIDTH - _RIGHT) / 2),
        foot=HEIGHT - 6,
        axis=axis,
    )


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


def _coordinate(value: float) -> str:
    """Return a coordinate to a tenth of a pixel, without idle zeros."""
    return f"{value:.1f}".removesuffix(".0")
