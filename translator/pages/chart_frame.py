"""What all charts with two axes have alike: size, margins, grid lines with their numbers, titles."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from translator.pages.visible import plain

WIDTH: Final = 460
HEIGHT: Final = 190
_LEFT: Final = 46
_TOP: Final = 12
_BOTTOM: Final = 40


@dataclass(frozen=True)
class ChartFrame:
    """The place of a chart; points inside are told as shares of its width and its height, from the left and below."""

    right: int
    """Margin, with room for half of the last number below the axis."""

    def x(self, share: float) -> float:
        """Return the horizontal coordinate at a share of the width."""
        return _LEFT + share * (WIDTH - _LEFT - self.right)

    def y(self, share: float) -> float:
        """Return the vertical coordinate at a share of the height."""
        return HEIGHT - _BOTTOM - share * (HEIGHT - _BOTTOM - _TOP)

    def grid_line(self, share: float, label: str) -> Markup:
        """Return the line across the chart at a share of its height, with its number; that at 0 is the ground."""
        y = coordinate(self.y(share))
        return Markup(
            '<line class="{}" x1="{}" x2="{}" y1="{}" y2="{}"/>'
            '<text class="tick" x="{}" y="{}" dy="0.32em" text-anchor="end">{}</text>'
        ).format("grid" if share else "ground", _LEFT, WIDTH - self.right, y, y, _LEFT - 6, y, label)

    def tick(self, share: float, label: str) -> Markup:
        """Return a mark below the axis at a share of its width."""
        return Markup('<text class="tick" x="{}" y="{}" text-anchor="middle">{}</text>').format(
            coordinate(self.x(share)), HEIGHT - _BOTTOM + 15, label
        )

    def chart(self, parts: Iterable[Markup], *, identity: str, title: str, description: str, axis: str) -> Markup:
        """Return the chart that holds `parts`.

        Args:
            parts: in the order in which they are drawn.
            identity: unlike that of any other chart of the page; letters, digits and hyphens.
            title: what the chart shows, for those who cannot see it and for a tooltip.
            description: what one sees in it, in words.
            axis: the name of the horizontal axis.
        """
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
            middle=coordinate(self.x(0.5)),
            foot=HEIGHT - 6,
            axis=axis,
        )


def coordinate(value: float) -> str:
    """Return a coordinate to a tenth of a pixel, without idle zeros."""
    return f"{value:.1f}".removesuffix(".0")
