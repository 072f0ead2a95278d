"""Circles of a decoder are found; what source or reference say twice themselves is not."""

import pytest
from translated_sets import translated

from translator.evaluation.diagnosis.repetition import find_repetition, repeated_words

SOURCE = "He went home in the evening with his friends."
REFERENCE = "عصر با دوستانش به خانه رفت."


@pytest.mark.parametrize(
    ("words", "places"),
    [
        ("", []),
        ("او به خانه رفت", []),
        ("او او رفت", [1]),
        ("نه نه نه نه", [1, 2, 3]),
        ("پنج شمع پنج شمع هست", [2, 3]),
        ("و پدر و مادر و پسر", []),
        ("در را باز کرد و در را باز کرد", [5, 6, 7, 8]),
        ("در را باز کرد و سپس در را بست", []),
        ("را باز کرد و جعبه را باز کرد", [5, 6, 7]),
        ("آن دوتاتاتاتا بود", [1]),
        ("بی‌محححححمی کرد", [0]),
        ("سال ۱۱۱۱ بود", []),
        ("بابا با بابک", []),
    ],
)
def test_words_said_before(words: str, places: list[int]) -> None:
    assert repeated_words(words.split()) == places


@pytest.mark.parametrize(
    "hypothesis",
    ["او به خانه به خانه رفت.", "او، او، به خانه رفت.", "عصر به خانه رفت و عصر به خانه رفت.", "خانه‌ه‌ه‌ه‌ه رففففت."],
)
def test_a_circle_is_found(hypothesis: str) -> None:
    found = find_repetition(translated([hypothesis, REFERENCE], [REFERENCE] * 2, [SOURCE] * 2), 3)
    assert found.sentences == (1,)
    assert (found.count, found.of, found.share) == (1, 2, 0.5)
    assert "said before" in found.examples[0].note


def test_what_a_reference_or_the_source_repeats_may_be_repeated() -> None:
    said = "نه، نه، نه، نمی‌روم."
    assert find_repetition(translated([said], ["نه، نه، نه، نخواهم رفت."], [SOURCE]), 3).count == 0
    assert find_repetition(translated([said], ["هرگز."], ["No, no, no, I will not."]), 3).count == 0
    assert find_repetition(translated([said], [("هرگز.", "نه، نه، نه!")], [SOURCE]), 3).count == 0
    assert find_repetition(translated([said], ["نه، نه، نمی‌روم."], ["No, no."]), 3).count == 1, "more than they do"


def test_the_worst_comes_first() -> None:
    hypotheses = ["او رفت رفت به خانه و ماند.", "نه نه نه نه نه", "او به خانه رفت رفت."]
    found = find_repetition(translated(hypotheses, [REFERENCE] * 3, [SOURCE] * 3), 2)
    assert found.sentences == (1, 2, 3)
    assert [example.sentence for example in found.examples] == [2, 3]
    assert found.examples[0].note == "4 of 5 words said before: نه ×4"
