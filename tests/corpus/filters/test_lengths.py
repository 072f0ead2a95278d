"""Limits on length, and on how much longer one side may be."""

import pytest

from translator.corpus.filters.lengths import length_ratio, too_many_characters, too_many_words, word_ratio
from translator.corpus.filters.sides import Sides


def test_too_many_words() -> None:
    check = too_many_words(3)
    assert check(Sides.of("the door is open", "در"))
    assert check(Sides.of("door", "در باز است آن"))
    assert not check(Sides.of("doors are open", "در باز است"))


def test_several_spaces_are_not_words() -> None:
    assert not too_many_words(2)(Sides.of("a    b", "آ    ب"))


def test_too_many_characters() -> None:
    check = too_many_characters(5)
    assert check(Sides.of("a door", "در"))
    assert check(Sides.of("door", "یک درب"))
    assert not check(Sides.of("doors", "درهای"))


@pytest.mark.parametrize(
    ("source", "target", "dropped"),
    [
        ("a" * 20, "ب" * 5, False),
        ("a" * 20, "ب" * 4, True),
        ("a" * 4, "ب" * 20, True),
        ("a" * 19, "ب", False),
        ("He was standing at the window.", "او.", True),
        ("No", "به هیچ وجه", False),
    ],
)
def test_length_ratio(source: str, target: str, dropped: bool) -> None:
    assert length_ratio(4.0)(Sides.of(source, target)) is dropped


@pytest.mark.parametrize(
    ("source", "target", "dropped"),
    [
        ("a " * 12, "ب " * 3, False),
        ("a " * 12, "ب " * 2, True),
        ("a " * 2, "ب " * 12, True),
        ("a " * 11, "ب", False),
        ("He is a man who may or may not be at home", "نه او.", True),
        ("I do not know", "نمی‌دانم", False),
    ],
)
def test_word_ratio(source: str, target: str, dropped: bool) -> None:
    assert word_ratio(4.0)(Sides.of(source, target)) is dropped
