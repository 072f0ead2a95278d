"""Loops: a translation may repeat what its source repeats, and no more; loops.yaml has examples."""

from pathlib import Path

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.search.loop_detection import looping_words, repeated_words, words_of

EXAMPLES = yaml.safe_load(Path(__file__).with_name("loops.yaml").read_text(encoding="utf-8"))
WORDS = st.sampled_from(["بله", "friend's", "no", "می‌رود", "window", "هاهاها", "7"])


def test_words_beyond_what_the_source_repeats_are_counted() -> None:
    for source, translation, count in EXAMPLES:
        assert looping_words(source, translation) == count, translation


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
