"""Long texts are cut where a reader would pause, evenly, and nothing but white space is lost."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.inference.text.long_sentences import split_text


def words_of(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def split(text: str, words: int) -> list[str]:
    return split_text(text, words_of, words)


@pytest.mark.parametrize(
    ("text", "words", "pieces"),
    [
        (" One. Two. ", 2, ["One. Two."]),
        ("  ", 2, []),
        ("He came. 'Who knows.' She left! Why?", 3, ["He came.", "'Who knows.'", "She left!", "Why?"]),
        ("Dr. Smith met J. Doe on Mt. Etna. It was hot.", 8, ["Dr. Smith met J. Doe on Mt. Etna.", "It was hot."]),
        ("The U.S. Army came. It left.", 4, ["The U.S. Army came.", "It left."]),
        ("It cost 3.50 e.g. in Rome. Too much.", 6, ["It cost 3.50 e.g. in Rome.", "Too much."]),
        ("if it rains, we stay; otherwise we go", 5, ["if it rains, we stay;", "otherwise we go"]),
        ("اگر ببارد، می‌مانیم؛ چرا؟ می‌رویم.", 3, ["اگر ببارد،", "می‌مانیم؛ چرا؟", "می‌رویم."]),
        ("a b c d, e, f g h i", 4, ["a b c d,", "e,", "f g h i"]),
        ("a, b, c, d, e, f, g, h, i, j", 9, ["a, b, c, d, e,", "f, g, h, i, j"]),
        ("a, b c d e f g, h", 4, ["a,", "b c d", "e f g,", "h"]),
        (
            "short and unbelievably-long-word-without-any-space",
            1,
            ["short", "and", "unbelievably-long-word-without-any-space"],
        ),
    ],
)
def test_long_text_is_cut_at_sentence_ends_then_at_clause_ends(text: str, words: int, pieces: list[str]) -> None:
    assert split(text, words) == pieces


@settings(deadline=None)
@given(st.text(alphabet="ab A.,;!?\"' -—。؟،", max_size=200), st.integers(1, 30))
def test_cutting_loses_no_text_and_only_single_words_exceed_the_limit(text: str, room: int) -> None:
    pieces = split_text(text, lambda texts: [len(text) for text in texts], room)
    assert "".join(pieces).replace(" ", "") == text.replace(" ", "")
    for piece in pieces:
        assert piece == piece.strip() != ""
        assert len(piece) <= room or " " not in piece


@given(st.integers(1, 60), st.integers(1, 20))
def test_text_is_cut_into_as_few_and_as_even_segments_as_possible(words: int, room: int) -> None:
    text = " ".join("w" * words)
    segment_lengths = words_of(split(text, room))
    assert len(segment_lengths) == math.ceil(words / room)
    assert max(segment_lengths) == math.ceil(words / len(segment_lengths))
