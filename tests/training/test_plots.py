"""Labels as a Persian reader expects them, and pictures that leave nothing behind."""

import gc
import unicodedata
import warnings

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot
from matplotlib.figure import Figure

from translator.training.plots import attention_figure, shown_pieces

LETTERS = "▁لاآأإهيیکب\u064b\u0651\u0640\u200c\u200d x1("
"""What joins and what does not, marks, and what is invisible."""


def visual(*pieces: str, right_to_left: bool = True) -> list[str]:
    """Return labels without the override of direction around them."""
    labels = shown_pieces(pieces, right_to_left=right_to_left)
    for piece, label in zip(pieces, labels, strict=True):
        assert piece.startswith("<") or (label[0] == "\u202d" and label[-1] == "\u202c")
    return [label.strip("\u202d\u202c") for label in labels]


def names(label: str) -> list[str]:
    """Return the shape of each letter from right to left, as it is read."""
    return [unicodedata.name(letter).removeprefix("ARABIC LETTER ") for letter in reversed(label)]


def test_letters_are_joined_and_run_from_right_to_left() -> None:
    (label,) = visual("▁کتاب")
    assert names(label) == ["KEHEH INITIAL FORM", "TEH MEDIAL FORM", "ALEF FINAL FORM", "BEH ISOLATED FORM"]


def test_lam_alef_is_one_shape() -> None:
    assert names(visual("▁لا")[0]) == ["ARABIC LIGATURE LAM WITH ALEF ISOLATED FORM"]


def test_a_piece_keeps_the_shape_it_has_in_its_word() -> None:
    first, second, third = visual("▁رف", "ت", "م")
    assert names(first) == ["REH ISOLATED FORM", "FEH INITIAL FORM"]
    assert names(second) == ["HYPHEN-MINUS", "TEH MEDIAL FORM"]
    assert names(third) == ["HYPHEN-MINUS", "MEEM FINAL FORM"]


def test_lam_alef_is_one_shape_in_a_piece_that_goes_on() -> None:
    first, second, third = visual("▁ک", "لا", "س")
    assert names(second) == ["HYPHEN-MINUS", "ARABIC LIGATURE LAM WITH ALEF FINAL FORM"]
    assert names(first) == ["KEHEH INITIAL FORM"] and names(third) == ["HYPHEN-MINUS", "SEEN ISOLATED FORM"]


@given(st.lists(st.text(LETTERS, min_size=1, max_size=5), min_size=1, max_size=5))
def test_any_piece_has_a_label(pieces: list[str]) -> None:
    assert len(shown_pieces(pieces, right_to_left=True)) == len(pieces)


def test_letters_that_do_not_join_stay_apart() -> None:
    first, second = visual("▁مدر", "سه")
    assert names(first)[-1] == "REH ISOLATED FORM"
    assert names(second) == ["HYPHEN-MINUS", "SEEN INITIAL FORM", "HEH FINAL FORM"]


def test_zwnj_parts_letters_and_is_not_drawn() -> None:
    first, second = visual("▁می\u200c", "روم")
    assert names(first) == ["MEEM INITIAL FORM", "FARSI YEH FINAL FORM"]
    assert names(second)[0] == "REH ISOLATED FORM"


def test_digits_latin_and_brackets_in_a_persian_sentence() -> None:
    assert visual("▁۱۲۳", "▁NA", "TO", "▁«", "▁", "</s>") == ["۱۲۳", "NA", "-TO", "»", "␣", "</s>"]


def test_english() -> None:
    assert visual("▁walk", "ing", "▁don", "'", "t", ".", right_to_left=False) == ["walk", "-ing", "don", "'", "t", "."]


def draw(source: list[str], target: list[str]) -> npt.NDArray[np.uint8]:
    weights = np.full((len(target), len(source)), 1 / len(source), dtype=np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return attention_figure(source, target, weights)


@pytest.mark.parametrize(
    "piece",
    [
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
    ],
)
def test_nothing_is_missing_from_the_font_or_taken_for_a_formula(piece: str) -> None:
    image = draw([piece, "</s>"], ["▁من", piece, "</s>"])
    assert image.dtype == np.uint8
    assert image.ndim == 3
    assert image.shape[2] == 3


def test_weights_are_where_they_belong() -> None:
    """One cell at the third row and first column: the brightest place is left of the middle and below it."""
    weights = np.zeros((3, 4), dtype=np.float32)
    weights[2, 0] = 1.0
    image = attention_figure(["▁a"] * 4, ["▁ب"] * 3, weights).astype(int)
    yellow = (image[..., 0] > 220) & (image[..., 1] > 200) & (image[..., 2] < 80)
    rows, columns = np.nonzero(yellow[:, : image.shape[1] // 2])
    assert rows.mean() > image.shape[0] / 2
    assert columns.mean() < image.shape[1] / 2


def test_a_long_sentence_stays_a_picture_of_sensible_size() -> None:
    assert max(draw(["▁a"] * 200, ["▁ب"] * 250).shape) < 4000


def test_figures_do_not_pile_up() -> None:
    for _ in range(3):
        draw(["▁a"], ["▁ب"])
    assert pyplot.get_fignums() == []
    gc.collect()
    assert not [thing for thing in gc.get_objects() if isinstance(thing, Figure)]
