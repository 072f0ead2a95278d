"""The vectors of positions: what the embedding adds, or the rotations of queries and keys.

L positions, D model width, K head width
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from translator.config import ModelConfig
from translator.core.positions import RotaryPositions, sinusoidal_positions
from translator.core.transformer import Transformer
from translator.errors import InputError
from translator.plots.style import PAGE_INCHES, TITLE_SIZE, house_style, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PositionTable = npt.NDArray[np.floating[Any]]


def position_vectors(config: ModelConfig, length: int, model: Transformer | None = None) -> PositionTable:
    """Return the vectors of the first `length` positions.

    Args:
        length: number of positions L.
        model: a trained model, for learned positions.

    Returns:
        (L, D): the vectors that the embedding adds. For rotary positions (L, K): the cosines and sines of a head.

    Raises InputError: positions are learned, but there is no model; or the model has fewer positions.
    """
    if config.positions == "learned":
        if model is None:
            raise InputError("model.positions is `learned`: the positions are in a trained run; name one with --run")
        table = model.target_embedding.positions.table
    elif config.positions == "rotary":
        table = RotaryPositions(config.d_model // config.heads, config.max_positions).table
    else:
        table = sinusoidal_positions(config.max_positions, config.d_model)
    assert table is not None
    if not 2 <= length <= len(table):
        raise InputError(f"--length {length} is out of range; give 2 to {len(table)}, the positions of this model")
    vectors: PositionTable = table[:length].detach().float().numpy()
    return vectors


@house_style()
def positions_figure(table: PositionTable, title: str) -> "Figure":
    """Return the picture of the position vectors in `table` (L, D), and of the cosine between each two."""
    length, width = table.shape
    figure = new_figure(PAGE_INCHES, 3.4)
    figure.suptitle(title, fontsize=TITLE_SIZE)
    values_axes, cosine_axes = figure.subplots(1, 2, width_ratios=[1.4, 1.0])

    # 1. The values. Even dimensions first, then odd ones: alternating sines and cosines would flicker.
    dimensions = np.concatenate([table[:, 0::2], table[:, 1::2]], axis=1).T  # (D, L)
    largest = float(np.abs(table).max())
    image = values_axes.imshow(
        dimensions,
        cmap="PuOr",
        vmin=-largest,
        vmax=largest,
        aspect="auto",
        origin="lower",
        extent=(-0.5, length - 0.5, 0, width),
    )
    values_axes.set(title="values", xlabel="position", ylabel="even dimensions, then odd ones")
    figure.colorbar(image, ax=values_axes)

    # 2. The cosine between each two positions.
    unit_vectors = table / np.linalg.norm(table, axis=1, keepdims=True)
    image = cosine_axes.imshow(unit_vectors @ unit_vectors.T, vmax=1.0, origin="lower")
    cosine_axes.set(title="cosine between two positions", xlabel="position", ylabel="position")
    figure.colorbar(image, ax=cosine_axes, shrink=0.8)
    return figure
