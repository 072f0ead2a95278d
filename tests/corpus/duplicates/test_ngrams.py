"""Hashes of n-grams, against the same arithmetic with Python's whole numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.corpus.duplicates.ngrams import BASE, NGRAM, ngram_hashes

MODULUS = 2**64
TEXTS = st.lists(st.text(min_size=NGRAM, max_size=20), min_size=1, max_size=6)


def splitmix(value: int) -> int:
    """The generator's output function for the state `value` plus one step."""
    value = (value + 0x9E3779B97F4A7C15) % MODULUS
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 % MODULUS
    value = (value ^ value >> 27) * 0x94D049BB133111EB % MODULUS
    return value ^ value >> 31


def plain_hashes(text: str) -> list[int]:
    found = []
    for start in range(len(text) - NGRAM + 1):
        value = 0
        for character in text[start : start + NGRAM]:
            value = (value * int(BASE) + ord(character)) % MODULUS
        found.append(splitmix(value))
    return found


@settings(deadline=None)
@given(TEXTS)
def test_against_whole_numbers(texts: list[str]) -> None:
    hashes, starts = ngram_hashes(texts)
    each = [plain_hashes(text) for text in texts]
    assert [part.tolist() for part in np.split(hashes, starts[1:])] == each
    assert starts[0] == 0


def test_different_ngrams_have_different_hashes() -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    texts = [first + second + "خانه"[:3] for first in letters for second in letters]
    hashes, starts = ngram_hashes(texts)
    assert starts.tolist() == list(range(len(texts)))
    assert len(set(hashes.tolist())) == len(texts)


def test_one_ngram() -> None:
    assert ngram_hashes(["salam"])[0].tolist() == plain_hashes("salam")


@pytest.mark.parametrize("text", ["سلام دنیا", "emoji 😀😀 here", "\u200c\u2028 \t."])
def test_characters_of_every_width(text: str) -> None:
    assert ngram_hashes([text])[0].tolist() == plain_hashes(text)
