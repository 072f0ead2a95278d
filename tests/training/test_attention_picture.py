"""The picture of an attention map: its labels, and the place of a weight."""

import numpy as np
import pytest
from matplotlib import pyplot

from translator.run.piece_labels import shown_pieces
from translator.training.monitoring.attention_picture import attention_figure


@pytest.mark.parametrize(
    ("pieces", "labels"),
    [
        (
            ["▁walk", "ing", "▁don", "'", "t", ".", "</s>"],
            ["walk\u200d", "-\u200ding", "don", "'\u200d", "-\u200dt", ".", "</s>"],
        ),
        (["▁رف", "ت", "▁", "▁۱۲۳"], ["رف\u200d", "-\u200dت", "␣", "۱۲۳"]),
    ],
)
def test_a_piece_that_continues_a_word_has_a_hyphen_and_joins_its_neighbour(
    pieces: list[str], labels: list[str]
) -> None:
    assert shown_pieces(pieces) == labels


@pytest.mark.filterwarnings("ignore:Glyph .* missing from font")  # pytest removes the filter of the product
def test_unusual_pieces_are_drawn() -> None:
    pieces = ["▁می\u200cروم", "▁مُحَمَّد", "😀", "漢", "$x^$", "\x00", "<0xE2>", "\u202eس", "</s>"]
    weights = np.full((len(pieces), len(pieces)), 0.1, dtype=np.float32)
    image = attention_figure(pieces, pieces, weights)
    assert image.dtype == np.uint8 and image.shape[2] == 3
    assert pyplot.get_fignums() == [], "figures do not pile up"


def test_a_weight_is_drawn_at_its_target_row_and_source_column() -> None:
    """The only weight is in the third row and first column: the brightest area is left of and below the middle."""
    weights = np.zeros((3, 4), dtype=np.float32)
    weights[2, 0] = 1.0
    image = attention_figure(["▁a"] * 4, ["▁ب"] * 3, weights).astype(int)
    yellow = (image[..., 0] > 220) & (image[..., 1] > 200) & (image[..., 2] < 80)
    height, width = yellow.shape
    rows, columns = np.nonzero(yellow[:, : width // 2])
    assert rows.mean() > height / 2
    assert columns.mean() < width / 2
