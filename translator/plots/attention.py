"""The picture of attention over a sentence: attending pieces from above to below, attended ones across."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from translator.plots.figure import PAGE_INCHES, SEQUENTIAL, house_style, new_figure
from translator.plots.sentence_attention import Kind, Panel, SentenceAttention
from translator.training.plots import shown_pieces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_AXES: Final[dict[Kind, tuple[str, str]]] = {
    "cross": ("English piece that is looked at", "Persian piece that is produced"),
    "encoder": ("English piece that is looked at", "English piece that looks"),
    "decoder": ("Persian piece that is looked at", "Persian piece that looks"),
}
_MOST_COLUMNS: Final = 4
_CELL_INCHES: Final = 0.36
_SMALLEST_CELL_INCHES: Final = 0.13
"""Letters below this could not be read; a picture of a longer sentence is wider than a page."""
_LETTER_POINTS: Final = 9.0


@house_style()
def attention_figure(attention: SentenceAttention, panels: Sequence[Panel]) -> "Figure":
    """Return the picture of `panels`, which are maps of `attention`, under one scale of colours."""
    looking = shown_pieces(attention.looking, right_to_left=attention.kind != "encoder")
    looked_at = shown_pieces(attention.looked_at, right_to_left=attention.kind == "decoder")
    columns = min(_columns(panels), len(panels))
    rows = math.ceil(len(panels) / columns)
    beside = 1.9  # for the labels and the scale of colours
    room = (PAGE_INCHES - beside) / (columns * len(looked_at))
    cell = min(_CELL_INCHES, max(room, _SMALLEST_CELL_INCHES))
    size = min(_LETTER_POINTS, 0.7 * cell * 72)
    below = 0.55 + max(map(len, looked_at)) * 0.6 * size / 72
    figure = new_figure(max(cell * columns * len(looked_at) + beside, 4.2), (cell * len(looking) + 0.3) * rows + below)
    figure.set_layout_engine("compressed")  # cells are squares, and the room that this leaves is not needed
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    highest = max(float(panel.weights.max()) for panel in panels)
    for number, axes in enumerate(grid.flat):
        if number >= len(panels):
            axes.set_visible(False)
            continue
        # As in the file, cell for cell: a picture that is drawn larger must not blur them.
        image = axes.imshow(panels[number].weights, cmap=SEQUENTIAL, vmin=0.0, vmax=highest, interpolation="none")
        axes.set_title(panels[number].title)
        axes.set_xticks(range(len(looked_at)), looked_at, rotation=90, fontsize=size)
        axes.set_yticks(range(len(looking)), looking, fontsize=size)
        lowest = number + columns >= len(panels)
        axes.tick_params(length=0, labelleft=number % columns == 0, labelbottom=lowest)
        axes.spines[:].set_visible(False)
    across, down = _AXES[attention.kind]
    figure.supxlabel(across, fontsize=9)
    figure.supylabel(down, fontsize=9)
    bar = figure.colorbar(image, ax=grid, shrink=1.0 if rows == 1 else 0.6, aspect=25)
    bar.set_label("share of attention")
    return figure


def _columns(panels: Sequence[Panel]) -> int:
    """Return how many maps stand side by side: the heads of a layer, where several layers come with all heads."""
    of_layer = sum(panel.title.split(",")[0] == panels[0].title.split(",")[0] for panel in panels)
    several_layers = 1 < of_layer < len(panels)
    return of_layer if several_layers else _MOST_COLUMNS
