"""Long texts are cut where a reader would pause, and nothing but white space is lost."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.segment import split_text


def split(text: str, words: int) -> list[str]:
    return split_text(text, lambda part: len(part.split()) <= words)


def test_a_text_that_fits_stays_whole() -> None:
    assert split(" One. Two. ", 2) == ["One. Two."]
    assert split("  ", 2) == []


@pytest.mark.parametrize(
    ("text", "words", "pieces"),
    [
        (
            "He came. She left! Why? 'Who knows.' Nobody.",
            3,
            ["He came.", "She left!", "Why?", "'Who knows.'", "Nobody."],
        ),
        ("Dr. Smith met J. Doe on Mt. Etna. It was hot.", 8, ["Dr. Smith met J. Doe on Mt. Etna.", "It was hot."]),
        ("It cost 3.50 e.g. in Rome. Too much.", 6, ["It cost 3.50 e.g. in Rome.", "Too much."]),
        ("if it rains, we stay; otherwise we go", 5, ["if it rains, we stay;", "otherwise we go"]),
        ("one two three four five six", 2, ["one two", "three", "four", "five six"]),
        ("short and unbelievably-long-word-without-any-space here", 1, None),
    ],
)
def test_where_it_cuts(text: str, words: int, pieces: list[str] | None) -> None:
    assert split(text, words) == (pieces or text.split())


def test_a_single_long_word_comes_back_whole() -> None:
    assert split_text("a" * 50 + " b", lambda part: len(part) <= 10) == ["a" * 50, "b"]


@settings(deadline=None)
@given(st.text(alphabet="ab A.,;!?\"' -", max_size=200), st.integers(1, 30))
def test_nothing_is_lost_and_all_but_single_words_fit(text: str, limit: int) -> None:
    pieces = split_text(text, lambda part: len(part) <= limit)
    assert "".join(pieces).replace(" ", "") == text.replace(" ", "")
    for piece in pieces:
        assert piece == piece.strip() != ""
        assert len(piece) <= limit or " " not in piece


def test_a_hundred_thousand_characters() -> None:
    text = "A sentence of a book, and more of it. " * 2700
    pieces = split(text, 5)
    assert " ".join(pieces) == text.strip()
    words = "word " * 20_000
    assert " ".join(split(words, 7)) == words.strip()
