"""Near-duplicates: how often they are found, and which of them go."""

import random
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from translator.corpus.selecting.near_duplicates import (
    BANDS,
    MINIMUM_NGRAMS,
    NGRAM,
    NearDuplicateIndex,
    signatures,
)

SHORTEST = MINIMUM_NGRAMS + NGRAM - 1
LETTERS = "abcdefghijklmnopابپتثجچحخدذرزژسش"


def jaccard(first: str, second: str) -> float:
    first_ngrams, second_ngrams = (
        {text[start : start + 5] for start in range(len(text) - 4)} for text in (first, second)
    )
    return len(first_ngrams & second_ngrams) / len(first_ngrams | second_ngrams)


def test_signatures_match_where_texts_are_similar() -> None:
    """The formula 1 - (1 - s^8)^9 gives 0.994 at a similarity of 0.9, and 0.035 at 0.5."""
    generator = random.Random(7)
    texts = ["".join(generator.choices(LETTERS, k=generator.randint(SHORTEST, 200))) for _ in range(500)]
    keys = signatures(texts)
    for share, least, most in ((0.01, 0.9, 1.0), (0.15, 0.0, 0.1)):
        edited = [
            "".join(generator.choice(LETTERS) if generator.random() < share else c for c in text) for text in texts
        ]
        assert least <= (keys == signatures(edited)).any(axis=1).mean() <= most

    # A signature depends on its text alone, also where many or long texts exceed what is processed at a time.
    long_text = "".join(texts)
    assert np.array_equal(keys[::-1], signatures([long_text, *texts[::-1]])[1:])
    assert np.array_equal(signatures([texts[0][: SHORTEST - 1], long_text]).any(axis=1), [False, True])


FAMILY = st.integers(0, 4).map(lambda start: "abcdefghijkl"[start : start + 8])
"""Texts of four n-grams, of which neighbours share three: similarities of 1, 3/5, 1/3, 1/7 and 0."""


@given(st.data(), st.sampled_from([1 / 7, 1 / 3, 3 / 5, 1.0]))
def test_each_dropped_near_duplicate_resembles_an_earlier_kept_pair(data: st.DataObject, threshold: float) -> None:
    # Texts with keys of few values, which many share by chance, and some of the texts in any order.
    texts = data.draw(st.lists(FAMILY, min_size=1, max_size=14))
    row = st.lists(st.integers(0, 3), min_size=BANDS, max_size=BANDS)
    keys = np.array([data.draw(row) for _ in texts], dtype=np.uint64)
    order = data.draw(st.lists(st.sampled_from(range(len(texts))), unique=True))

    with tempfile.TemporaryDirectory() as folder, NearDuplicateIndex(Path(folder)) as index:
        index.add(texts, keys)
        found = index.find(np.array(order, dtype=np.int64), threshold).tolist()
    assert found == survivors_by_definition(keys.tolist(), order, threshold, texts)


def survivors_by_definition(keys: list[list[int]], order: list[int], threshold: float, texts: list[str]) -> list[int]:
    """Return for each text the earlier one that it nearly repeats, or -1, by loops over all texts."""
    survivors = [-1] * len(texts)
    for place, later in enumerate(order):
        compared = set()
        for band in range(BANDS):
            alike = [earlier for earlier in range(place) if 0 != keys[later][band] == keys[order[earlier]][band]]
            compared.update(alike[:1] + alike[-1:])
        for earlier in (order[number] for number in sorted(compared)):
            survivor = earlier if survivors[earlier] < 0 else survivors[earlier]
            if survivors[later] < 0 and jaccard(texts[later], texts[survivor]) >= threshold:
                survivors[later] = survivor
    return survivors
