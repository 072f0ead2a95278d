"""The picture of an attention map, for TensorBoard."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from translator.run.piece_labels import FONT, shown_pieces

_CELL_INCHES: Final = 0.3
_LARGEST_INCHES: Final = 24.0  # longest side of the map
_POINTS_PER_INCH: Final = 72


def attention_figure(
    source_pieces: Sequence[str], target_pieces: Sequence[str], weights: NDArray[np.floating[Any]]
) -> NDArray[np.uint8]:
    """Return a heat map of cross-attention `weights` (T, S) as an RGB image: S pieces across, T pieces down."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # slow to import; needed for pictures only
    from matplotlib.figure import Figure

    rows, columns = weights.shape
    cell = min(_CELL_INCHES, _LARGEST_INCHES / max(rows, columns))
    size = (cell * columns + 3.0, cell * rows + 2.2)
    # Not pyplot, whose global list would keep every figure in memory.
    figure = Figure(figsize=size, dpi=110, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    image = axes.imshow(weights, vmin=0.0, vmax=1.0, cmap="viridis", aspect="equal")
    # The pieces beside their rows and columns.
    font = {"fontfamily": FONT, "fontsize": min(11.0, 0.62 * cell * _POINTS_PER_INCH), "parse_math": False}
    axes.set_xticks(range(columns), shown_pieces(source_pieces), rotation=90, **font)
    axes.set_yticks(range(rows), shown_pieces(target_pieces), **font)
    axes.tick_params(length=0)
    axes.xaxis.tick_top()
    figure.colorbar(image, ax=axes, shrink=min(1.0, 3.0 / (cell * rows)), label="attention")
    canvas.draw()  # type: ignore[no-untyped-call]
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()  # type: ignore[no-untyped-call]
