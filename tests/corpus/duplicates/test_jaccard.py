"""Similarities of many texts at once, against Python's sets."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.corpus.duplicates.jaccard import similarities

TEXT = st.text(alphabet="abآ", min_size=5, max_size=30)


def plain(first: str, second: str) -> float:
    one, other = ({text[start : start + 5] for start in range(len(text) - 4)} for text in (first, second))
    return len(one & other) / len(one | other)


@settings(deadline=None)
@given(st.lists(st.tuples(TEXT, TEXT), max_size=8))
def test_against_sets(pairs: list[tuple[str, str]]) -> None:
    assert similarities(pairs) == [plain(*pair) for pair in pairs]


def test_values_counted_by_hand() -> None:
    assert similarities([("abcdef", "abcdex"), ("aaaaaaaa", "aaaaa"), ("abcde", "fghij")]) == [1 / 3, 1.0, 0.0]


@pytest.mark.parametrize("length", [5, 300, 70_000])
def test_many_and_long_ones(length: int) -> None:
    generator = random.Random(length)
    base = "".join(generator.choices("abcdefghابپتث", k=length))
    pairs = [(base, base[: generator.randint(5, length)] + "xyz") for _ in range(3 if length > 1000 else 500)]
    assert similarities(iter(pairs)) == [plain(*pair) for pair in pairs]
