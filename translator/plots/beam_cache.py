"""The picture of a beam's cache: nothing is moved, and each row attends to its own branch of a tree."""

from typing import TYPE_CHECKING, Final

import numpy as np

from translator.plots.beam_history import RememberedSearch
from translator.plots.figure import COLOURS, FAINT, PAGE_INCHES, house_style, new_figure, shown
from translator.plots.masks import MAY, MAY_NOT, draw_allowed, draw_legend
from translator.text_table import excerpt

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FIRST_ROW: Final = COLOURS[1]
_LIVING: Final = "#CFE3F2"
"""What some row may still attend to."""
_LONGEST: Final = 60
"""Characters of a sentence in the title."""
_LEGEND: Final = (
    (_FIRST_ROW, "branch of the first row"),
    (_LIVING, "another row attends to it"),
    (FAINT, "in the cache still, and no row attends to it"),
)


@house_style()
def beam_cache_figure(remembered: RememberedSearch) -> "Figure":
    """Return the picture of the cache at the last step of a search: the tree of branches, and the bias of each row."""
    length, width = remembered.history.tokens.shape
    figure = new_figure(max(PAGE_INCHES, 0.62 * length + 0.8), 0.36 * width + 0.2 * width + 2.5)
    tree, bias = figure.subplots(2, 1, height_ratios=[0.36 * width, 0.2 * width])
    figure.suptitle(
        f"{_title_part(remembered.text)}  →  {_title_part(remembered.translation)}, beam of {width}", fontsize=9.5
    )
    _draw_tree(tree, remembered)
    allowed = remembered.history.allowed()  # (W, T, W)
    draw_allowed(bias, allowed.reshape(width, length * width))
    bias.set_title("what the newest position of each row may attend to, at each place of the cache")
    for position in range(1, length):
        bias.axvline(position * width, color="black", linewidth=0.8)
    bias.set_xticks([width * (position + 0.5) for position in range(length)], _numbers(length))
    bias.set_yticks([row + 0.5 for row in range(width)], _numbers(width))
    bias.set(xlabel=f"position in the target, {width} places each", ylabel="row")
    draw_legend(figure, (*_LEGEND, (MAY, "bias 0: may attend"), (MAY_NOT, "bias −∞: may not")))
    return figure


def _draw_tree(axes: "Axes", remembered: RememberedSearch) -> None:
    """Draw a box for each place of the cache, and a line from each to the one whose branch it continues."""
    history = remembered.history
    length, width = history.tokens.shape
    attended = np.any(history.allowed(), axis=0).tolist()  # (T, W)
    first = set(enumerate(history.branch(length - 1, 0)))
    for position in range(length):
        for row in range(width):
            on_first = (position, row) in first
            if position:
                axes.plot(
                    [position - 1, position],
                    [int(history.parents[position, row]), row],
                    color=_FIRST_ROW if on_first else "#888888" if attended[position][row] else FAINT,
                    linewidth=1.8 if on_first else 1.0,
                    zorder=2 if on_first else 1,  # under the boxes
                )
            colour = _FIRST_ROW if on_first else _LIVING if attended[position][row] else FAINT
            axes.text(
                position,
                row,
                remembered.pieces[position][row],
                ha="center",
                va="center",
                fontsize=8,
                color="white" if on_first else "black" if attended[position][row] else "#777777",
                bbox={"boxstyle": "round,pad=0.25", "facecolor": colour, "edgecolor": "none"},
                zorder=3,
            )
    axes.set_title("what each row wrote at each position, and whose branch it continues")
    axes.set(xlim=(-0.6, length - 0.4), ylim=(width - 0.5, -0.5), xlabel="position in the target", ylabel="row")
    axes.set_xticks(range(length), _numbers(length))
    axes.set_yticks(range(width), _numbers(width))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _title_part(text: str) -> str:
    return shown(excerpt(text, _LONGEST))


def _numbers(count: int) -> list[str]:
    return [str(number) for number in range(1, count + 1)]
