"""Small charts as SVG inside a page: their colours come from its style, so that light, dark and print all fit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from markupsafe import Markup, escape

from translator.pages.visible import plain

WIDTH: Final = 460
HEIGHT: Final = 190
_LEFT: Final = 46
_RIGHT: Final = 10
_TOP: Final = 12
_BOTTOM: Final = 40
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
        identity: unlike that of any other chart of the page; letters, digits and hyphens.
        title: what the chart shows, for those who cannot see it and for a tooltip.
        description: what one sees in it, in words.
        axis: the name of the horizontal axis.
        ticks: marks on it.
    """
    bins = len(series[0].counts)
    shares = [[count / max(sum(one.counts), 1) for count in one.counts] for one in series]
    step, highest = _scale(max(map(max, shares)))
    grid = Markup("").join(_grid_line(step * line, highest) for line in range(round(highest / step) + 1))
    marks = Markup("").join(
        Markup('<text class="tick" x="{}" y="{}" text-anchor="middle">{}</text>').format(
            _number(_x(tick.place, bins)), HEIGHT - _BOTTOM + 15, tick.label
        )
        for tick in ticks
    )
    shapes = Markup("").join(
        Markup('<path class="{}" d="{}"/>').format(one.style, _outline(heights, highest))
        for one, heights in zip(series, shares, strict=True)
    )
    return Markup(
        '<svg class="chart" viewBox="0 0 {width} {height}" role="img" aria-labelledby="{identity}-t {identity}-d">'
        '<title id="{identity}-t">{title}</title><desc id="{identity}-d">{description}</desc>'
        '{grid}{shapes}{marks}<text class="axis" x="{middle}" y="{foot}" text-anchor="middle">{axis}</text></svg>'
    ).format(
        width=WIDTH,
        height=HEIGHT,
        identity=identity,
        title=plain(title),
        description=plain(description),
        grid=grid,
        shapes=shapes,
        marks=marks,
        middle=_number((_LEFT + WIDTH - _RIGHT) / 2),
        foot=HEIGHT - 6,
        axis=axis,
    )


def bar(parts: Sequence[tuple[str, float]]) -> Markup:
    """Return a bar of full width; each part has a class of the style and a share. Beside it stand the numbers."""
    shapes, start = [], 0.0
    for style, share in parts:
        shapes.append(
            Markup('<rect class="{}" x="{}" y="0" width="{}" height="8"/>').format(
                style, _number(1000 * start), _number(1000 * share)
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


def _grid_line(share: float, highest: float) -> Markup:
    y = _number(_y(share, highest))
    return Markup(
        '<line class="{}" x1="{}" x2="{}" y1="{}" y2="{}"/><text class="tick" x="{}" y="{}" dy="0.32em" '
        'text-anchor="end">{}%</text>'
    ).format("grid" if share else "ground", _LEFT, WIDTH - _RIGHT, y, y, _LEFT - 6, y, escape(_number(100 * share)))


def _outline(shares: Sequence[float], highest: float) -> str:
    """Return the path around the columns, from the ground and back to it."""
    path = [f"M{_number(_x(0, len(shares)))} {_number(_y(0, highest))}"]
    for place, share in enumerate(shares):
        path.append(f"V{_number(_y(share, highest))}H{_number(_x(place + 1, len(shares)))}")
    return "".join([*path, f"V{_number(_y(0, highest))}Z"])


def _x(place: float, bins: int) -> float:
    return _LEFT + place / bins * (WIDTH - _LEFT - _RIGHT)


def _y(share: float, highest: float) -> float:
    return HEIGHT - _BOTTOM - share / highest * (HEIGHT - _BOTTOM - _TOP)


def _number(value: float) -> str:
    """Return a coordinate to a tenth of a pixel, without idle zeros."""
    return f"{value:.1f}".removesuffix(".0")
