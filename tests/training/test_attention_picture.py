"""Labels as a Persian reader expects them, and figures that are closed after drawing."""

import unicodedata
import warnings

import numpy as np
from matplotlib import pyplot

from translator.run.arabic_shaping import shown_pieces
from translator.training.monitoring.attention_picture import attention_figure


def visual(*pieces: str, right_to_left: bool = True) -> list[str]:
    labels = shown_pieces(pieces, right_to_left=right_to_left)
    for piece, label in zip(pieces, labels, strict=True):
        assert piece.startswith("<") or (label[0] == "\u202d" and label[-1] == "\u202c")
    return [label.strip("\u202d\u202c") for label in labels]


def names(label: str) -> list[str]:
    """Return the shape of each letter from right to left, as it is read."""
    return [unicodedata.name(letter).removeprefix("ARABIC LETTER ") for letter in reversed(label)]


def test_labels_use_joined_letter_forms_in_right_to_left_order() -> None:
    (label,) = visual("▁کتاب")
    assert names(label) == ["KEHEH INITIAL FORM", "TEH MEDIAL FORM", "ALEF FINAL FORM", "BEH ISOLATED FORM"]


def test_letters_join_across_the_pieces_of_a_word() -> None:
    first, second, third = visual("▁رف", "ت", "م")
    assert names(first) == ["REH ISOLATED FORM", "FEH INITIAL FORM"]
    assert names(second) == ["HYPHEN-MINUS", "TEH MEDIAL FORM"]
    assert names(third) == ["HYPHEN-MINUS", "MEEM FINAL FORM"]


def test_letters_do_not_join_across_a_zero_width_non_joiner() -> None:
    first, second = visual("▁می\u200c", "روم")
    assert names(first) == ["MEEM INITIAL FORM", "FARSI YEH FINAL FORM"], "a zero-width non-joiner is not drawn"
    assert names(second)[0] == "REH ISOLATED FORM"


def test_labels_order_digits_latin_and_brackets_in_both_directions() -> None:
    assert visual("▁۱۲۳", "▁NA", "TO", "▁«", "▁", "</s>") == ["۱۲۳", "NA", "-TO", "»", "␣", "</s>"]
    assert visual("▁walk", "ing", "▁don", "'", "t", ".", right_to_left=False) == ["walk", "-ing", "don", "'", "t", "."]


UNUSUAL_PIECES = [
    "▁می\u200cروم",
    "▁پژگچ",
    "▁ۀئؤأآة",
    "▁،؛؟«»٪",
    "▁۰۱۲۳۴۵۶۷۸۹",
    "▁مُحَمَّد",
    "😀",
    "漢",
    "$x^$",
    "_{",
    "\x00",
    "<0xE2>",
    "\u202eس",
    "\u2067",
    "⁇",
    "</s>",
]


def test_attention_figure_draws_unusual_pieces_without_warnings() -> None:
    count = len(UNUSUAL_PIECES)
    weights = np.full((count, count), 1 / count, dtype=np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        image = attention_figure(UNUSUAL_PIECES, UNUSUAL_PIECES, weights)
    assert image.dtype == np.uint8
    assert image.ndim == 3
    assert image.shape[2] == 3
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
