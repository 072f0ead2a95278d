"""Letters of the Arabic script take their contextual shapes."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.run.arabic_shaping import shaped


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("لا", ["LIGATURE LAM WITH ALEF ISOLATED FORM"]),
        ("\u200dلآ", ["LIGATURE LAM WITH ALEF WITH MADDA ABOVE FINAL FORM"]),
        ("بلا", ["LETTER BEH INITIAL FORM", "LIGATURE LAM WITH ALEF FINAL FORM"]),
        ("\u200dبلأ", ["LETTER BEH MEDIAL FORM", "LIGATURE LAM WITH ALEF WITH HAMZA ABOVE FINAL FORM"]),
    ],
)
def test_lam_alef_becomes_one_ligature_with_and_without_a_joiner(text: str, names: list[str]) -> None:
    assert [unicodedata.name(letter) for letter in shaped(text)] == [f"ARABIC {name}" for name in names]


@given(st.text("لاآأإهيیکب\u064b\u0651\u0640\u200c\u200d x1", max_size=8))
def test_any_text_can_be_shaped(text: str) -> None:
    spaces = text.count(" ")
    assert shaped(text).count(" ") == spaces and len(shaped(text)) <= len(text)
