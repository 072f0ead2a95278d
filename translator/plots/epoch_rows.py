"""The rows of an epoch: their sentences and padding.

N rows, L positions of a row
"""

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import torch

from translator.config import Config
from translator.data import Batch, DataHandler, DataPosition
from translator.plots.style import (
    COLOURS,
    FAINT,
    PAGE_INCHES,
    TITLE_SIZE,
    as_label,
    draw_legend,
    house_style,
    new_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SENTENCE_SHADES: Final = (COLOURS[0], COLOURS[5])  # of the first, third, … and of the second, fourth, … sentence
_READ_BATCHES: Final = 100  # of an epoch, from which rows are drawn
_DRAWN_ROWS: Final = 24


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
        row_count = len(self.source_sentence)
        chosen_rows = np.linspace(0, row_count - 1, min(count, row_count)).round().astype(int)
        return EpochRows(self.source_sentence[chosen_rows], self.target_sentence[chosen_rows])


def epoch_rows(config: Config) -> EpochRows:
    """Return the rows of the first 100 batches of an epoch, without empty ones; prepares missing data."""
    batches: list[Batch] = []
    handler = DataHandler(config)
    with contextlib.closing(handler.train_batches(DataPosition())) as epoch:
        for batch, position in epoch:
            batches.append(batch)
            if len(batches) == _READ_BATCHES or position.epoch > 0:
                break

    # The last batch of an epoch may have empty rows.
    is_used = np.concatenate([batch.pair_counts for batch in batches]) > 0
    source_sentence = torch.cat([batch.source_sentence for batch in batches]).numpy()
    target_sentence = torch.cat([batch.target_sentence for batch in batches]).numpy()
    return EpochRows(source_sentence=source_sentence[is_used], target_sentence=target_sentence[is_used])


@house_style()
def batches_figure(rows: EpochRows, name: str) -> "Figure":
    """Return the picture of some of `rows`, a bar each: its sentences in alternating shades, and PAD."""
    # 1. Choose the rows, and say how full all rows are.
    spread_rows = rows.spread(_DRAWN_ROWS)
    row_count, length = spread_rows.source_sentence.shape
    fullness = rows.fullness()
    fuller_side = fullness.max(axis=0).mean()
    row_counts = f"{row_count} of {len(rows.source_sentence):,} rows"
    figure = new_figure(PAGE_INCHES, 0.16 * row_count + 1.3)
    figure.suptitle(
        f"{as_label(name)}: {row_counts}; {fuller_side:.1%} of the fuller side are tokens", fontsize=TITLE_SIZE
    )

    # 2. Draw a panel for each side, with the share of tokens beside each row.
    panels = figure.subplots(1, 2, sharey=True)
    panels[0].set(ylabel="row", yticks=[], ylim=(row_count, 0))  # the first row is at the top
    sentences = (spread_rows.source_sentence, spread_rows.target_sentence)
    for side, axes in enumerate(panels):
        _draw_sentences(axes, sentences[side])
        name_of_side = ("source", "target")[side]
        axes.set(title=f"{name_of_side}: {fullness[side].mean():.1%} are tokens", xlabel="position")
        for row, share in enumerate(spread_rows.fullness()[side]):
            axes.text(1.01 * length, row + 0.5, f"{share:.0%}", va="center", fontsize=7)
    odd_shade, even_shade = _SENTENCE_SHADES
    draw_legend(figure, {"sentences 1, 3, …": odd_shade, "sentences 2, 4, …": even_shade, "PAD": FAINT})
    return figure


def _draw_sentences(axes: "Axes", sentence: npt.NDArray[np.int64]) -> None:
    """Draw a bar for each row of the sentence numbers `sentence` (rows, L)."""
    rows, length = sentence.shape
    axes.barh(np.arange(rows) + 0.5, length, height=0.9, color=FAINT)
    # Above the faint bar of a whole row, a bar for each sentence, one after the other.
    for row, numbers in enumerate(sentence):
        lengths = np.bincount(numbers)[1:]  # of each sentence in this row, without PAD
        begins = np.cumsum(lengths) - lengths
        shades = [_SENTENCE_SHADES[number % 2] for number in range(len(lengths))]
        axes.barh(row + 0.5, lengths, left=begins, height=0.9, color=shades)
    axes.set_xlim(0, length)
    axes.spines[:].set_visible(False)
