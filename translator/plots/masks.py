"""The picture of the three masks of a batch."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from translator.plots.figure import COLOURS, FAINT, PAGE_INCHES, house_style, new_figure
from translator.plots.mask_example import PairMasks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAY: Final = COLOURS[0]
MAY_NOT: Final = FAINT
_LEGEND: Final = ((MAY, "True: may attend"), (MAY_NOT, "False: may not"))


@house_style()
def masks_figure(pairs: Sequence[PairMasks]) -> "Figure":
    """Return the picture of the encoder's, the decoder's and the cross mask of each pair, a row for each."""
    figure = new_figure(PAGE_INCHES, 2.7 * len(pairs) + 0.5)
    source, target = len(pairs[0].source), len(pairs[0].target_input)
    grid = figure.subplots(len(pairs), 3, squeeze=False, width_ratios=[source, target, source])
    for number, pair in enumerate(pairs):
        panels = (
            ("encoder  (B, 1, 1, S)", pair.encoder, pair.source, pair.source),
            ("decoder  (B, 1, T, T)", pair.decoder, pair.target_input, pair.target_input),
            ("cross  (B, 1, 1, S)", pair.cross, pair.target_input, pair.source),
        )
        for axes, (title, mask, queries, keys) in zip(grid[number], panels, strict=True):
            draw_allowed(axes, mask)
            axes.set_xticks(np.arange(len(keys)) + 0.5, keys, rotation=90)
            axes.set_yticks(np.arange(len(queries)) + 0.5, queries)
            axes.set_aspect("equal", anchor="N")
            axes.set_xlabel("key: what is looked at")
            if number == 0:
                axes.set_title(title)
        grid[number, 0].set_ylabel(f"sentence {number + 1} of the batch\nquery: what looks")
    draw_legend(figure)
    return figure


def draw_allowed(axes: "Axes", allowed: npt.NDArray[np.bool_]) -> Any:
    """Draw (queries, keys) truth values as cells, the first query at the top, and return what was drawn."""
    from matplotlib.colors import ListedColormap

    mesh = axes.pcolormesh(
        allowed.astype(float), cmap=ListedColormap([MAY_NOT, MAY]), vmin=0, vmax=1, edgecolors="white", linewidth=1
    )
    axes.invert_yaxis()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return mesh


def draw_legend(figure: "Figure", names: Sequence[tuple[str, str]] = _LEGEND) -> None:
    """Say below the picture what its colours mean."""
    from matplotlib.patches import Patch

    figure.legend(
        handles=[Patch(color=colour, label=label) for colour, label in names],
        loc="outside lower center",
        ncols=3,
    )
