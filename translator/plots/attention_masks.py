"""The attention masks of a row with two sentence pairs.

R rows, S source positions, T target positions
"""

from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from translator.core import SPECIAL_TOKENS
from translator.core.masks import MaskGenerator
from translator.data import Batch, collate_rows
from translator.plots.style import COLOURS, FAINT, PAGE_INCHES, draw_legend, house_style, new_figure
from translator.run.arabic_shaping import WORD_START, shown_pieces

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAY_ATTEND: Final = COLOURS[0]
_MAY_NOT_ATTEND: Final = FAINT
_PAIRS: Final = (("The door is open .", "در باز است ."), ("Come in !", "بفرمایید !"))
"""Two sentence pairs, words separated by spaces."""
_ROW_LENGTH: Final = 11  # positions of a row with these pairs: one or more are PAD on either side


@house_style()
def masks_figure() -> "Figure":
    """Return a picture of the encoder, decoder and cross masks for one row with two sentence pairs."""
    # 1. Number the words, and put both pairs into one row.
    spellings = _vocabulary()
    batch = _example_batch(spellings)
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
        _draw_mask(axes, mask[0, 0].numpy())
        axes.set_xticks(np.arange(len(keys)) + 0.5, keys, rotation=90)
        axes.set_yticks(np.arange(len(queries)) + 0.5, queries)
        axes.set_aspect("equal", anchor="N")
        axes.set(xlabel="key", ylabel="query", title=title)
    draw_legend(figure, {"True: may attend": _MAY_ATTEND, "False: may not": _MAY_NOT_ATTEND})
    return figure


def _vocabulary() -> list[str]:
    """Return the spelling of each id: the special tokens, then the words of the pairs."""
    words: set[str] = set()
    for source_text, target_text in _PAIRS:
        words.update(source_text.split(), target_text.split())
    return [spelling for spelling, _ in SPECIAL_TOKENS] + [WORD_START + word for word in sorted(words)]


def _example_batch(spellings: list[str]) -> Batch:
    """Return a batch of one row with the pairs."""
    pairs = []
    for source_text, target_text in _PAIRS:
        source_ids = [spellings.index(WORD_START + word) for word in source_text.split()]
        target_ids = [spellings.index(WORD_START + word) for word in target_text.split()]
        pairs.append((source_ids, target_ids))
    return collate_rows([pairs], _ROW_LENGTH)


def _draw_mask(axes: "Axes", allowed: npt.NDArray[np.bool_]) -> None:
    """Draw booleans (queries, keys) as cells, with the first query at the top."""
    from matplotlib.colors import ListedColormap

    colours = ListedColormap([_MAY_NOT_ATTEND, _MAY_ATTEND])
    axes.pcolormesh(allowed.astype(float), cmap=colours, vmin=0, vmax=1, edgecolors="white", linewidth=1)
    axes.invert_yaxis()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
