"""Variants of a text have one fold; different texts have different folds."""

import pytest

from translator.corpus.selecting.folding import fold


@pytest.mark.parametrize(
    ("text", "variant"),
    [
        ("Don't go!", "dont GO"),
        ("می‌روم.", "می روم"),
        ("كتابِ عَربي", "کتاب عربی"),
        ("خانهٔ ۱۲", "خانة 12"),
        ("Café", "cafe"),
        ("ﻻزم", "لازم"),
        ("“yes” – he’s", '"yes" -- he\'s'),
        ("R &amp; D", "R&D"),
        ("cafÃ© Ø³Ù„Ø§Ù…", "café سلام"),
        ("الا´ن", "الآن"),
    ],
)
def test_fold_makes_variants_equal(text: str, variant: str) -> None:
    assert fold(text) == fold(variant) != ""


def test_fold_keeps_different_texts_apart() -> None:
    texts = ["می‌روم", "می‌رویم", "I go", "I went", "12", "13", "...", "?!", "آب", "کتاب"]
    assert len({fold(text) for text in texts}) == len(texts)
