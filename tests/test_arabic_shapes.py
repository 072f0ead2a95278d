"""Shapes of letters beside each other, also where a joiner stands for a letter that is elsewhere."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.arabic_shapes import shaped

JOINER = "\u200d"
ALEFS = {"ا": "ALEF", "آ": "ALEF WITH MADDA ABOVE", "أ": "ALEF WITH HAMZA ABOVE", "إ": "ALEF WITH HAMZA BELOW"}


def names(text: str) -> list[str]:
    return [unicodedata.name(letter).removeprefix("ARABIC ") for letter in text]


@pytest.mark.parametrize("alef", ALEFS)
def test_lam_and_alef_are_one_shape_with_and_without_a_joiner(alef: str) -> None:
    ligature = f"LIGATURE LAM WITH {ALEFS[alef]}"
    assert names(shaped(f"ل{alef}")) == [f"{ligature} ISOLATED FORM"]
    assert names(shaped(f"{JOINER}ل{alef}")) == [f"{ligature} FINAL FORM"]
    assert names(shaped(f"بل{alef}")) == ["LETTER BEH INITIAL FORM", f"{ligature} FINAL FORM"]
    assert names(shaped(f"{JOINER}بل{alef}")) == ["LETTER BEH MEDIAL FORM", f"{ligature} FINAL FORM"]
    assert names(shaped(f"ل{alef}ب{JOINER}"))[0] == f"{ligature} ISOLATED FORM"


def test_a_joiner_stands_for_a_letter() -> None:
    assert names(shaped(f"{JOINER}ب{JOINER}")) == ["LETTER BEH MEDIAL FORM"]
    assert names(shaped(f"ب{JOINER}")) == ["LETTER BEH INITIAL FORM"]


@given(st.text("لاآأإهيیکب\u064b\u0651\u0640\u200c\u200d x1", max_size=8))
def test_any_text_can_be_shaped(text: str) -> None:
    spaces = text.count(" ")
    assert shaped(text).count(" ") == spaces and len(shaped(text)) <= len(text)
