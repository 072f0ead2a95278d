"""The pictures of the pages that no verb of the program draws: masks, positions, learning rates, rows.

`python -m book.pictures` writes them into docs/pictures/; for the rows it prepares the sample first.

N rows, S source positions, T target positions, L positions of a row, D model width
"""

import contextlib
import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from translator.config import Config, load_config
from translator.core import SPECIAL_TOKENS
from translator.core.batch import collate_rows
from translator.core.masks import MaskGenerator
from translator.core.optimizer import learning_rate
from translator.core.positions import RotaryPositions, sinusoidal_positions
from translator.data import DataHandler, DataPosition
from translator.plots.picture import PAGE_INCHES, colour_of, house_style, write_picture
from translator.run.piece_labels import WORD_START, shown_pieces

FOLDER: Final = Path(__file__).parents[1] / "docs" / "pictures"
_BLUE: Final = colour_of(0)
_LIGHT_BLUE: Final = colour_of(5)
_FAINT: Final = "#DDDDDD"  # absent or forbidden entries
_TITLE_SIZE: Final = 9.5  # points
_PAIRS: Final = (("The door is open .", "در باز است ."), ("Come in !", "بفرمایید !"))
"""Two sentence pairs, words separated by spaces."""
_ROW_LENGTH: Final = 11  # positions of a row with these pairs: one or more are PAD on either side
_POSITIONS: Final = 64  # drawn ones
_READ_BATCHES: Final = 50  # about half an epoch of the sample, from which rows are drawn
_DRAWN_ROWS: Final = 24

Sentences = npt.NDArray[np.int64]  # (N, L) number of the sentence in its row, from 1; 0 at PAD


# --- the attention masks of a row with two sentence pairs ---


@house_style()
def masks_figure() -> Figure:
    """Return a picture of the encoder, decoder and cross masks for one row with two sentence pairs."""
    # 1. Number the words, and put both pairs into one row.
    spellings = [spelling for spelling, _ in SPECIAL_TOKENS]
    row = []
    for texts in _PAIRS:
        sides = []
        for text in texts:
            words = [WORD_START + word for word in text.split()]
            sides.append(range(len(spellings), len(spellings) + len(words)))
            spellings += words
        row.append((list(sides[0]), list(sides[1])))
    batch = collate_rows([row], _ROW_LENGTH)
    masks = MaskGenerator()(batch.source_sentence, batch.target_sentence)

    # 2. Label the positions of the row.
    english = shown_pieces([spellings[token] for token in batch.source[0].tolist()])
    persian = shown_pieces([spellings[token] for token in batch.target_input[0].tolist()])

    # 3. Draw a panel for each mask, with the first query at the top.
    figure = Figure(figsize=(PAGE_INCHES, 3.1))
    panels = (
        ("encoder  (R, 1, S, S)", masks.encoder, english, english),
        ("decoder  (R, 1, T, T)", masks.decoder, persian, persian),
        ("cross  (R, 1, T, S)", masks.cross, persian, english),
    )
    colours = ListedColormap([_FAINT, _BLUE])
    for axes, (title, mask, queries, keys) in zip(figure.subplots(1, 3), panels, strict=True):
        allowed = mask[0, 0].float().numpy()
        axes.pcolormesh(allowed, cmap=colours, vmin=0, vmax=1, edgecolors="white", linewidth=1)
        axes.invert_yaxis()
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set_xticks(np.arange(len(keys)) + 0.5, keys, rotation=90)
        axes.set_yticks(np.arange(len(queries)) + 0.5, queries)
        axes.set_aspect("equal", anchor="N")
        axes.set(xlabel="key", ylabel="query", title=title)
    _draw_legend(figure, {"True: may attend": _BLUE, "False: may not": _FAINT})
    return figure


# --- the vectors of positions ---


@house_style()
def positions_figure(recipe: str) -> Figure:
    """Return a picture of the first 64 positions of a recipe: their vectors, and the cosine between each two."""
    # 1. Compute what the embedding adds (L, D), or the cosines and sines by which a head is rotated.
    model = load_config(recipe).model
    title = f"{model.positions} positions of {recipe}, width {model.d_model}"
    if model.positions == "rotary":
        title += f", {model.heads} heads"
        table = RotaryPositions(model.d_model // model.heads, _POSITIONS).table
        assert table is not None
        vectors = table.numpy()
    else:
        vectors = sinusoidal_positions(_POSITIONS, model.d_model).numpy()
    figure = Figure(figsize=(PAGE_INCHES, 3.4))
    figure.suptitle(title, fontsize=_TITLE_SIZE)
    values_axes, cosine_axes = figure.subplots(1, 2, width_ratios=[1.4, 1.0])

    # 2. Draw the values. Even dimensions first, then odd ones: alternating sines and cosines would flicker.
    dimensions = np.concatenate([vectors[:, 0::2], vectors[:, 1::2]], axis=1).T  # (D, L)
    largest = float(np.abs(vectors).max())
    image = values_axes.imshow(
        dimensions,
        cmap="PuOr",
        vmin=-largest,
        vmax=largest,
        aspect="auto",
        origin="lower",
        extent=(-0.5, _POSITIONS - 0.5, 0, len(dimensions)),
    )
    values_axes.set(title="values", xlabel="position", ylabel="even dimensions, then odd ones")
    figure.colorbar(image, ax=values_axes)

    # 3. Draw the cosine between each two positions.
    unit_vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    image = cosine_axes.imshow(unit_vectors @ unit_vectors.T, vmax=1.0, origin="lower")
    cosine_axes.set(title="cosine between two positions", xlabel="position", ylabel="position")
    figure.colorbar(image, ax=cosine_axes, shrink=0.8)
    return figure


# --- learning rates ---


@house_style()
def schedule_figure(recipes: tuple[str, ...]) -> Figure:
    """Return a picture of the learning rate of recipes, from the first update to `max_steps`."""
    figure = Figure(figsize=(PAGE_INCHES, 3.2 + 0.18 * len(recipes)))
    axes = figure.add_subplot()
    for number, recipe in enumerate(recipes):
        training = load_config(recipe).training
        # Evenly spread updates, and the one with the peak.
        spread_steps = np.linspace(1, training.max_steps, 600).round().astype(int).tolist()
        steps = sorted({*spread_steps, max(training.warmup_steps, 1)})
        rates = [learning_rate(step, training.schedule_settings) for step in steps]
        label = f"{recipe}: {training.schedule}, peak {training.learning_rate:g}"
        label += f", warm-up of {training.warmup_steps:,} updates"
        axes.plot(steps, rates, color=colour_of(number), label=label)
    axes.set(xlabel="update of the weights", ylabel="learning rate", xlim=(0, None), ylim=(0, None))
    axes.grid(True)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:g}")
    figure.legend(loc="outside lower center")
    return figure


# --- the rows of an epoch ---


def rows_of_epoch(config: Config) -> tuple[Sentences, Sentences]:
    """Return the source and the target rows in the first 50 batches of an epoch; prepares missing data."""
    with contextlib.closing(DataHandler(config).train_batches(DataPosition())) as epoch:
        batches = [batch for batch, _ in itertools.islice(epoch, _READ_BATCHES)]
    source = torch.cat([batch.source_sentence for batch in batches]).numpy()
    target = torch.cat([batch.target_sentence for batch in batches]).numpy()
    return source, target


@house_style()
def rows_figure(name: str, source: Sentences, target: Sentences) -> Figure:
    """Return a picture of some of the rows, a bar each: its sentences in alternating shades, and PAD."""
    # 1. Say how full all rows are.
    fullness = {"source": (source > 0).mean(axis=1), "target": (target > 0).mean(axis=1)}  # (N,) each
    fuller_side = np.maximum(fullness["source"], fullness["target"]).mean()
    drawn = np.linspace(0, len(source) - 1, _DRAWN_ROWS).round().astype(int)
    figure = Figure(figsize=(PAGE_INCHES, 0.16 * len(drawn) + 1.3))
    figure.suptitle(
        f"{name}: {len(drawn)} of {len(source):,} rows; {fuller_side:.1%} of the fuller side are tokens",
        fontsize=_TITLE_SIZE,
    )

    # 2. Draw a panel for each side, with the share of tokens beside each row; the first row is at the top.
    panels = figure.subplots(1, 2, sharey=True)
    panels[0].set(ylabel="row", yticks=[], ylim=(len(drawn), 0))
    for axes, (side, sentences) in zip(panels, {"source": source, "target": target}.items(), strict=True):
        _draw_sentences(axes, sentences[drawn])
        axes.set(title=f"{side}: {fullness[side].mean():.1%} are tokens", xlabel="position")
        for row, share in enumerate(fullness[side][drawn]):
            axes.text(1.01 * sentences.shape[1], row + 0.5, f"{share:.0%}", va="center", fontsize=7)
    _draw_legend(figure, {"sentences 1, 3, …": _BLUE, "sentences 2, 4, …": _LIGHT_BLUE, "PAD": _FAINT})
    return figure


def _draw_sentences(axes: Axes, sentences: Sentences) -> None:
    """Draw a bar for each row of `sentences`, and above it a bar for each sentence, one after the other."""
    row_count, length = sentences.shape
    axes.barh(np.arange(row_count) + 0.5, length, height=0.9, color=_FAINT)
    for row, numbers in enumerate(sentences):
        lengths = np.bincount(numbers)[1:]  # of each sentence in this row, without PAD
        begins = np.cumsum(lengths) - lengths
        shades = [(_BLUE, _LIGHT_BLUE)[number % 2] for number in range(len(lengths))]
        axes.barh(row + 0.5, lengths, left=begins, height=0.9, color=shades)
    axes.set_xlim(0, length)
    axes.spines[:].set_visible(False)


def _draw_legend(figure: Figure, colours: Mapping[str, str]) -> None:
    """Draw a legend of the colours, by label, below the picture."""
    handles: list[Any] = [Patch(color=colour, label=label) for label, colour in colours.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)


PICTURES: Final[Mapping[str, Callable[[], Figure]]] = {
    "masks.svg": masks_figure,
    "positions.svg": lambda: positions_figure("sample"),
    "positions-rotary.svg": lambda: positions_figure("cpu-small"),
    "schedule.svg": lambda: schedule_figure(("sample", "mizan-small")),
    "batches.svg": lambda: rows_figure("sample", *rows_of_epoch(load_config("sample"))),
}
"""The name of each picture, and what draws it."""


if __name__ == "__main__":
    for name, draw in PICTURES.items():
        write_picture(draw(), FOLDER / name)
