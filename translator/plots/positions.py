"""The picture of what is added to a token's vector, or turns its queries and keys, so that it knows its position."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from translator.checkpoint import load_model
from translator.config import ModelConfig
from translator.device import choose_device
from translator.errors import InputError
from translator.model.embedding import sinusoidal_positions
from translator.model.rotary import rotary_positions
from translator.plots.figure import COLOURS, DIVERGING, LINES, PAGE_INCHES, SEQUENTIAL, house_style, new_figure
from translator.run_folder import RunFolder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Table = npt.NDArray[np.floating[Any]]

_CURVES: Final = 4
"""Dimensions that are drawn as curves."""
_SHARP: Final = 256
"""Dimensions up to which each has its own cell; of more than that neighbours are mixed, or they would flicker."""
_ADDED: Final = ("even dimensions of what is added to a token's vector", "odd dimensions of what is added to it")
_TURNED: Final = (
    "cosines of the angles by which a head's pairs of columns are turned",
    "sines of the angles",
)
"""What the two rows of the picture show."""


def positions_of_recipe(model: ModelConfig, length: int) -> Table:
    """Return the (length, D) vectors that `model` begins with; of rotary ones cosines and sines, (length, D / heads).

    Raises:
        InputError: they are learned, so that a recipe does not tell, or they are fewer.
    """
    if model.positions == "learned":
        raise InputError(
            f"model.positions is `{model.positions}`, and what was learned is in a trained run; name one with --run"
        )
    _check_length(length, model.max_positions)
    rotary = rotary_positions(model)
    if rotary is None:
        table: Table = sinusoidal_positions(length, model.d_model).numpy()
    else:
        table = rotary.cosines_sines[:length].flatten(1).numpy()
    return table


def positions_of_run(run: RunFolder, checkpoint: str, length: int) -> Table:
    """Return the (length, D) vectors of the target side in a checkpoint of `run`; of rotary ones as its recipe does.

    Raises:
        CheckpointError: there is no such checkpoint, or it is damaged.
        InputError: they are fewer.
    """
    model, _ = load_model(run.checkpoints_folder, checkpoint, choose_device("cpu"))
    added = model.target_embedding.positions.table
    if added is None:
        return positions_of_recipe(run.config().model, length)
    table: Table = added.detach().float().numpy()
    _check_length(length, len(table))
    return table[:length]


def _check_length(length: int, most: int) -> None:
    if not 2 <= length <= most:
        raise InputError(f"--length {length} cannot be drawn: this model has {most} positions; give 2 to {most}")


@house_style()
def positions_figure(table: Table, title: str, *, turned: bool = False) -> "Figure":
    """Return the picture of the vectors, of some of their dimensions, and of how alike two of them are.

    Of rotary positions the last is the product of a vector of ones with itself, turned by two positions.

    Args:
        table: (length, D), a row for each position.
        title: what they are of.
        turned: whether they turn queries and keys, instead of being added.
    """
    length, width = table.shape
    figure = new_figure(PAGE_INCHES, 6.0)
    places = figure.subplot_mosaic(
        [["even", "even"], ["odd", "odd"], ["curves", "alike"]], width_ratios=[1.7, 1.0], height_ratios=[1, 1, 1.7]
    )
    figure.suptitle(title, fontsize=9.5)
    largest = float(np.abs(table).max()) or 1.0
    # Apart: sines and cosines stand in turn, and row by row they would flicker.
    for place, first, what in zip(("even", "odd"), (0, 1), _TURNED if turned else _ADDED, strict=True):
        image = places[place].imshow(
            table[:, first::2].T,
            cmap=DIVERGING,
            vmin=-largest,
            vmax=largest,
            aspect="auto",
            interpolation="none" if width <= _SHARP else "antialiased",
            origin="lower",
            extent=(-0.5, length - 0.5, 0, width),
        )
        places[place].set(title=what, ylabel="column of a head" if turned else "dimension")
    places["odd"].set(xlabel="position")
    figure.colorbar(image, ax=[places["even"], places["odd"]], label="value")
    axes, name = places["curves"], "column" if turned else "dimension"
    for number, dimension in enumerate(drawn_dimensions(width)):
        axes.plot(table[:, dimension], color=COLOURS[number], linestyle=LINES[number], label=f"{name} {dimension}")
    axes.set(title="some of the cosines" if turned else "some dimensions", xlabel="position", ylabel="value")
    axes.grid(True)
    axes.legend(fontsize=7, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.12))
    axes = places["alike"]
    image = axes.imshow(cosines(table), cmap=SEQUENTIAL, vmax=1.0, interpolation="none", origin="lower")
    axes.set(title="how alike two positions are", xlabel="position", ylabel="position")
    figure.colorbar(image, ax=axes, label="cosine", shrink=0.8)
    return figure


def drawn_dimensions(width: int) -> list[int]:
    """Return the dimensions that are drawn as curves: even ones, spread over the first half, where they turn fast."""
    return sorted({number * width // (2 * _CURVES) // 2 * 2 for number in range(_CURVES)})


def cosines(table: Table) -> Table:
    """Return the (length, length) cosines between all rows of `table` (length, D); a row of zeros is like none."""
    norms = np.linalg.norm(table, axis=1, keepdims=True)
    unit = np.divide(table, norms, out=np.zeros_like(table), where=norms > 0)
    alike: Table = unit @ unit.T
    return alike


def described(model: ModelConfig, name: str | Path | None) -> str:
    """Return the title for the positions of `model`."""
    of = "" if name is None else f" of {name}"
    heads = f", {model.heads} heads" if model.positions == "rotary" else ""
    return f"{model.positions} positions{of}, width {model.d_model}{heads}"
