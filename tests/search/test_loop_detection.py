"""Loops: a translation may repeat what its source repeats, and no more."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.search.loop_detection import looping_words, repeated_words, words_of

WORDS = st.sampled_from(["بله", "friend's", "no", "می‌رود", "window", "هاهاها", "7"])


@pytest.mark.parametrize(
    ("source", "translation", "count"),
    [
        ("She laughed and he laughed.", "او خندید و او خندید.", 0),
        ("The father of the father", "پدر پدر", 0),
        ("My neighbour's neighbour is my neighbour.", "همسایه همسایه من همسایه من است.", 0),
        (
            "I like fish, you like fish, they like fish.",
            "من ماهی دوست دارم، تو ماهی دوست داری، آنها ماهی دوست دارند.",
            0,
        ),
        ("No, no, no!", "نه، نه، نه!", 0),
        ("He said: Nooooo!", "او گفت: نههههه!", 0),
        ("She slowly understood.", "او کم کم فهمید.", 0),
        ("Sorry!", "متاسفم، متاسفم!", 0),
        ("He bought bread and milk and eggs.", "او نان و شیر و تخم مرغ خرید.", 0),
        ("", "", 0),
        ("He went home.", "او به خانه رفت رفت رفت رفت.", 3),
        ("He went home.", "او به خانه رفت و به خانه رفت.", 3),
        ("He went home.", "او به خانه رفتتتتت.", 1),
        ("No, no!", "نه، نه، نه، نه، نه، نه!", 1),
        ("The father of the father", "پدر پدر پدر پدر", 2),
    ],
)
def test_words_beyond_what_the_source_repeats_are_counted(source: str, translation: str, count: int) -> None:
    assert looping_words(source, translation) == count


@settings(max_examples=200)
@given(st.lists(WORDS, max_size=12).map(" ".join))
def test_a_text_allows_its_own_repetitions(text: str) -> None:
    assert looping_words(text, text) == 0


@settings(max_examples=100)
@given(st.lists(WORDS, max_size=6), st.integers(1, 4))
def test_a_phrase_said_once_more_than_allowed_repeats(phrase: list[str], allowed: int) -> None:
    words = words_of(" ".join(phrase))
    excess_words = repeated_words(words * (allowed + 1), allowed)
    assert bool(excess_words) == bool(words)
