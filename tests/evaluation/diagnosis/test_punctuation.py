"""Marks are counted one by one, and English marks in Persian are found."""

import pytest
from translated_sets import translated

from translator.evaluation.diagnosis.finding import Agreement
from translator.evaluation.diagnosis.punctuation import find_english_punctuation, find_punctuation, marks_of


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("سلام، خوبی؟", {"،": 1, "؟": 1}),
        ("«نه!»", {"«": 1, "!": 1, "»": 1}),
        ("چه ... و ..", {"…": 2}),
        ("۳.۵ و 1,200 و 10:30 و ۱-۲", {}),
        ("e.g. www.example.org بود.", {".": 2}),
        ("نخست: (یک)", {":": 1, "(": 1, ")": 1}),
        ("AT&amp;T", {}),
        ("😀 _ *", {}),
    ],
)
def test_marks(text: str, marks: dict[str, int]) -> None:
    assert marks_of(text) == marks


def test_agreement_of_each_mark() -> None:
    found = find_punctuation(translated(["آری، بلی، نه.", "چه؟"], ["آری، بلی و نه!", "چه؟"]), 3)
    assert found.sentences == (1,)
    assert found.examples[0].note == "too many: ، .; missing: !"
    assert found.agreements == {
        ".": Agreement(0, 1, 0),
        "،": Agreement(1, 2, 1),
        "؟": Agreement(1, 1, 1),
        "!": Agreement(0, 0, 1),
    }
    assert found.agreements["!"].precision is None
    assert found.agreements["!"].recall == 0
    assert found.agreements["!"].f1 == 0


def test_the_reference_that_agrees_best_counts() -> None:
    assert find_punctuation(translated(["نه!"], [("نه.", "هرگز!")]), 3).count == 0


@pytest.mark.parametrize(
    ("hypothesis", "reference", "note"),
    [
        ("چرا?", "چرا؟", "? for ؟"),
        ("چرا؟", "چرا?", None),
        ("چرا?", "چرا?", None),
        ("آری, نه; بلی", "آری", ", for ،، ; for ؛"),
        ("۱,۲۰۰ نفر", "هزار نفر", None),
    ],
)
def test_english_marks(hypothesis: str, reference: str, note: str | None) -> None:
    found = find_english_punctuation(translated([hypothesis], [reference]), 3)
    assert [example.note for example in found.examples] == ([note] if note else [])
