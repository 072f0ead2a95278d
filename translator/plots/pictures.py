"""Pictures of inputs and training: masks, positions, the learning-rate schedule, the rows of batches.

L positions of a row, D model width, K head width
"""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import torch

from translator.config import Config, ModelConfig, TrainingConfig
from translator.data import Batch, DataHandler, DataPosition, collate_rows
from translator.errors import InputError
from translator.masks import MaskGenerator
from translator.model import Transformer
from translator.model.embedding import sinusoidal_positions
from translator.model.rotary import rotary_positions
from translator.plots import COLOURS, FAINT, PAGE_INCHES, draw_legend, house_style, new_figure, shown
from translator.run.text import WORD_START, shown_pieces
from translator.special_tokens import SPECIAL_TOKENS
from translator.training.schedule import learning_rate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Table = npt.NDArray[np.floating[Any]]
MAY: Final = COLOURS[0]
MAY_NOT: Final = FAINT
EXAMPLE: Final = (("The door is open .", "در باز است ."), ("Come in !", "بفرمایید !"))
"""Two sentence pairs, words separated by spaces."""
EXAMPLE_LENGTH: Final = 11  # positions of a row with these pairs: one or more are PAD on either side
SENTENCE_SHADES: Final = (COLOURS[0], COLOURS[5])  # of the first, third, … and of the second, fourth, … sentence
READ_BATCHES: Final = 100  # of an epoch, from which rows are drawn
DRAWN_ROWS: Final = 24


# --- masks ---


@house_style()
def masks_figure() -> "Figure":
    """Return a picture of the encoder, decoder and cross masks for one row with the pairs of `EXAMPLE`."""
    # 1. Number the words, and put both pairs into one row.
    words = sorted({word for pair in EXAMPLE for text in pair for word in text.split()})
    spellings = [spelling for spelling, _ in SPECIAL_TOKENS] + [WORD_START + word for word in words]
    pairs = []
    for source_text, target_text in EXAMPLE:
        source_ids = [spellings.index(WORD_START + word) for word in source_text.split()]
        target_ids = [spellings.index(WORD_START + word) for word in target_text.split()]
        pairs.append((source_ids, target_ids))
    batch = collate_rows([pairs], EXAMPLE_LENGTH)
    masks = MaskGenerator()(batch.source_sentence, batch.target_sentence)

    # 2. Label the positions of the row.
    english = shown_pieces([spellings[token] for token in batch.source[0].tolist()])
    persian = shown_pieces([spellings[token] for token in batch.target_input[0].tolist()], right_to_left=True)

    # 3. Draw a panel for each mask.
    figure = new_figure(PAGE_INCHES, 3.1)
    panels = (
        ("encoder  (R, 1, S, S)", masks.encoder, english, english),
        ("decoder  (R, 1, T, T)", masks.decoder, persian, persian),
        ("cross  (R, 1, T, S)", masks.cross, persian, english),
    )
    for axes, (title, mask, queries, keys) in zip(figure.subplots(1, 3), panels, strict=True):
        draw_allowed(axes, mask[0, 0].numpy())
        axes.set_xticks(np.arange(len(keys)) + 0.5, keys, rotation=90)
        axes.set_yticks(np.arange(len(queries)) + 0.5, queries)
        axes.set_aspect("equal", anchor="N")
        axes.set(xlabel="key", ylabel="query", title=title)
    draw_legend(figure, {"True: may attend": MAY, "False: may not": MAY_NOT})
    return figure


def draw_allowed(axes: "Axes", allowed: npt.NDArray[np.bool_]) -> None:
    """Draw booleans (queries, keys) as cells, with the first query at the top."""
    from matplotlib.colors import ListedColormap

    colours = ListedColormap([MAY_NOT, MAY])
    axes.pcolormesh(allowed.astype(float), cmap=colours, vmin=0, vmax=1, edgecolors="white", linewidth=1)
    axes.invert_yaxis()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


# --- positions ---


def position_vectors(config: ModelConfig, length: int, model: Transformer | None = None) -> Table:
    """Return the vectors of the first `length` positions.

    Args:
        config: of the model.
        length: number of positions.
        model: a trained model, for learned positions.

    Returns:
        (length, D): the vectors that the embedding adds. For rotary positions (length, K): the cosines and sines of a
        head.

    Raises InputError: positions are learned, but there is no model; or the model has fewer positions.
    """
    if config.positions == "learned":
        if model is None:
            raise InputError("model.positions is `learned`: the positions are in a trained run; name one with --run")
        table = model.target_embedding.positions.table
    elif config.positions == "rotary":
        rotations = rotary_positions(config)
        assert rotations is not None
        table = rotations.table
    else:
        table = sinusoidal_positions(config.max_positions, config.d_model)
    assert table is not None
    if not 2 <= length <= len(table):
        raise InputError(f"--length {length} is out of range; give 2 to {len(table)}, the positions of this model")
    vectors: Table = table[:length].detach().float().numpy()
    return vectors


@house_style()
def positions_figure(table: Table, title: str) -> "Figure":
    """Return the picture of the position vectors in `table` (length, D), and of the cosine between each two."""
    length, width = table.shape
    figure = new_figure(PAGE_INCHES, 3.4)
    figure.suptitle(title, fontsize=9.5)
    left, right = figure.subplots(1, 2, width_ratios=[1.4, 1.0])
    largest = float(np.abs(table).max())
    # Even dimensions first, then odd ones: alternating sines and cosines would flicker.
    dimensions = np.concatenate([table[:, 0::2], table[:, 1::2]], axis=1).T
    extent = (-0.5, length - 0.5, 0, width)
    image = left.imshow(
        dimensions, cmap="PuOr", vmin=-largest, vmax=largest, aspect="auto", origin="lower", extent=extent
    )
    left.set(title="values", xlabel="position", ylabel="even dimensions, then odd ones")
    figure.colorbar(image, ax=left)
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    image = right.imshow(unit @ unit.T, vmax=1.0, origin="lower")
    right.set(title="cosine between two positions", xlabel="position", ylabel="position")
    figure.colorbar(image, ax=right, shrink=0.8)
    return figure


# --- the learning rate ---


@house_style()
def schedule_figure(recipes: Mapping[str, TrainingConfig]) -> "Figure":
    """Return the picture of the learning rate of recipes, by name, from the first update to `max_steps`."""
    figure = new_figure(PAGE_INCHES, 3.2 + 0.18 * len(recipes))
    axes = figure.add_subplot()
    for number, (name, config) in enumerate(recipes.items()):
        steps = np.linspace(1, config.max_steps, min(600, config.max_steps)).round().astype(int).tolist()
        steps = sorted({*steps, min(max(config.warmup_steps, 1), config.max_steps)})  # includes the peak
        label = f"{config.schedule}, peak {config.learning_rate:g}, warm-up of {config.warmup_steps:,} updates"
        if config.schedule_clock == "minutes":
            label += f", compressed into {config.max_minutes:g} minutes"
        rates = [learning_rate(step, config) for step in steps]
        axes.plot(steps, rates, color=COLOURS[number % len(COLOURS)], label=f"{shown(name)}: {label}")
    axes.set(xlabel="update of the weights", ylabel="learning rate", xlim=(0, None), ylim=(0, None))
    axes.grid(True)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:g}")
    figure.legend(loc="outside lower center")
    return figure


# --- the rows of batches ---


@dataclass(frozen=True)
class EpochRows:
    """N rows of an epoch, from the first one on."""

    source_sentence: npt.NDArray[np.int64]  # (N, L) number of the sentence in its row, from 1; 0 at PAD
    target_sentence: npt.NDArray[np.int64]  # (N, L)

    def fullness(self) -> npt.NDArray[np.float64]:
        """Return (2, N): the share of tokens in the positions of each source row and of each target row."""
        sides = np.stack([self.source_sentence, self.target_sentence])
        fullness: npt.NDArray[np.float64] = (sides > 0).mean(axis=2)
        return fullness

    def spread(self, count: int) -> "EpochRows":
        """Return `count` rows, evenly spread over these, or all if there are fewer."""
        length = len(self.source_sentence)
        chosen = np.linspace(0, length - 1, min(count, length)).round().astype(int)
        return EpochRows(self.source_sentence[chosen], self.target_sentence[chosen])


def epoch_rows(config: Config) -> EpochRows:
    """Return the rows of the first `READ_BATCHES` batches of an epoch, without empty ones; prepares missing data."""
    batches: list[Batch] = []
    with contextlib.closing(DataHandler(config).prepare().train_batches(DataPosition())) as epoch:
        for batch, position in epoch:
            batches.append(batch)
            if len(batches) == READ_BATCHES or position.epoch > 0:
                break
    is_used = np.concatenate([batch.pair_counts for batch in batches]) > 0
    source_sentence = torch.cat([batch.source_sentence for batch in batches]).numpy()
    target_sentence = torch.cat([batch.target_sentence for batch in batches]).numpy()
    return EpochRows(source_sentence[is_used], target_sentence[is_used])


@house_style()
def batches_figure(rows: EpochRows, name: str) -> "Figure":
    """Return the picture of some of `rows`, a bar each: its sentences in alternating shades, and PAD."""
    drawn = rows.spread(DRAWN_ROWS)
    count, length = drawn.source_sentence.shape
    fullness = rows.fullness()
    fuller_side = fullness.max(axis=0).mean()
    figure = new_figure(PAGE_INCHES, 0.16 * count + 1.3)
    which_rows = f"{count} of {len(rows.source_sentence):,} rows"
    figure.suptitle(f"{shown(name)}: {which_rows}; {fuller_side:.1%} of the fuller side are tokens", fontsize=9.5)
    panels = figure.subplots(1, 2, sharey=True)
    panels[0].set(ylabel="row", yticks=[], ylim=(count, 0))  # the first row is at the top
    sides = (("source", drawn.source_sentence), ("target", drawn.target_sentence))
    for axes, (side, sentence), of_all, of_drawn in zip(panels, sides, fullness, drawn.fullness(), strict=True):
        _draw_sentences(axes, sentence)
        axes.set(title=f"{side}: {of_all.mean():.1%} are tokens", xlabel="position")
        for row, share in enumerate(of_drawn):
            axes.text(1.01 * length, row + 0.5, f"{share:.0%}", va="center", fontsize=7)
    odd, even = SENTENCE_SHADES
    draw_legend(figure, {"sentences 1, 3, …": odd, "sentences 2, 4, …": even, "PAD": FAINT})
    return figure


def _draw_sentences(axes: "Axes", sentence: npt.NDArray[np.int64]) -> None:
    """Draw a bar for each row of the sentence numbers `sentence` (rows, L)."""
    rows, length = sentence.shape
    axes.barh(np.arange(rows) + 0.5, length, height=0.9, color=FAINT)
    for row, numbers in enumerate(sentence):
        lengths = np.bincount(numbers)[1:]  # of each sentence in this row, without PAD
        begins = np.cumsum(lengths) - lengths
        shades = [SENTENCE_SHADES[number % 2] for number in range(len(lengths))]
        axes.barh(row + 0.5, lengths, left=begins, height=0.9, color=shades)
    axes.set_xlim(0, length)
    axes.spines[:].set_visible(False)
