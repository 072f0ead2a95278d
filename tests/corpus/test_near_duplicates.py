"""Near-duplicates: how often they are found, which of them go, and the cost."""

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.corpus.selecting.near_duplicates import (
    BANDS,
    MINIMUM_NGRAMS,
    NGRAM,
    ROWS,
    NearDuplicateIndex,
    find_near_duplicates,
    signatures,
)

SHORTEST = MINIMUM_NGRAMS + NGRAM - 1
LETTERS = "abcdefghijklmnopابپتثجچحخدذرزژسش"


def words(count: int, seed: int, shortest: int = SHORTEST, longest: int = 200) -> list[str]:
    generator = random.Random(seed)
    return ["".join(generator.choices(LETTERS, k=generator.randint(shortest, longest))) for _ in range(count)]


def edited(text: str, edits: int, generator: random.Random) -> str:
    characters = list(text)
    for _ in range(edits):
        characters[generator.randrange(len(characters))] = generator.choice(LETTERS)
    return "".join(characters)


def jaccard(first: str, second: str) -> float:
    first_ngrams, second_ngrams = (
        {text[start : start + 5] for start in range(len(text) - 4)} for text in (first, second)
    )
    return len(first_ngrams & second_ngrams) / len(first_ngrams | second_ngrams)


def test_a_signature_depends_on_its_text_alone_and_short_texts_have_none() -> None:
    """This holds even where one text, or all together, exceed the characters processed at a time."""
    short, *others = words(1, 1, SHORTEST - 1, SHORTEST - 1) + words(2, 2, 40_000, 70_000) + words(600, 3)
    together = signatures([short, *others])
    assert not together[0].any()
    assert together[1:].all()
    assert np.array_equal(together[::-1], signatures([*others[::-1], short]))
    assert np.array_equal(together[301], signatures([others[300]])[0])


def test_signatures_match_as_often_as_the_lsh_formula_predicts() -> None:
    """Leskovec, Rajaraman, Ullman: Mining of Massive Datasets, section 3.4.2: 1 - (1 - s^r)^b."""
    generator = random.Random(7)
    texts = words(3000, 8)
    edited_texts = [edited(text, generator.randint(0, 12), generator) for text in texts]
    similarity = np.array(list(map(jaccard, texts, edited_texts)))
    predicted = 1 - (1 - similarity**ROWS) ** BANDS
    matches = (signatures(texts) == signatures(edited_texts)).any(axis=1)
    for low, high in ((0.3, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.0)):
        in_range = (similarity >= low) & (similarity < high)
        assert in_range.sum() > 100
        assert abs(matches[in_range].mean() - predicted[in_range].mean()) < 0.08


FAMILY = st.integers(0, 4).map(lambda start: "abcdefghijkl"[start : start + 8])
"""Texts of four n-grams, of which neighbours share three: similarities of 1, 3/5, 1/3, 1/7 and 0."""


@settings(deadline=None)
@given(st.data(), st.sampled_from([1 / 7, 1 / 3, 3 / 5, 1.0]))
def test_each_dropped_near_duplicate_resembles_an_earlier_kept_pair(data: st.DataObject, threshold: float) -> None:
    # Texts with keys of few values, which many share by chance, and some of the texts in any order.
    texts = data.draw(st.lists(FAMILY, min_size=1, max_size=14))
    row = st.lists(st.integers(0, 3), min_size=BANDS, max_size=BANDS)
    keys = np.array([data.draw(row) for _ in texts], dtype=np.uint64)
    order = data.draw(st.lists(st.sampled_from(range(len(texts))), unique=True))

    found = find_near_duplicates(keys, np.array(order, dtype=np.int64), threshold, texts.__getitem__).tolist()
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


@pytest.mark.parametrize("alike", [True, False])
def test_the_search_is_linear_even_if_all_share_one_key(alike: bool) -> None:
    count = 3000
    base = "".join(random.Random(6).choices(LETTERS, k=64))
    texts = [base if alike else f"{number:05}" * 4 for number in range(count)]
    texts_read = 0

    def text_of(number: int) -> str:
        nonlocal texts_read
        texts_read += 1
        return texts[number]

    survivors = find_near_duplicates(np.ones((count, BANDS), dtype=np.uint64), np.arange(count), 0.9, text_of)
    assert np.count_nonzero(survivors == 0) == (count - 1 if alike else 0)
    assert texts_read <= 4 * count


def test_an_index_finds_the_later_of_two_near_duplicates(tmp_path: Path) -> None:
    long = "he said that he would come tomorrow|او گفت که فردا خواهد آمد و ما را خواهد دید"
    texts = [long, "short|کوتاه", "", long + "!", "another one that is long enough|یکی دیگر که به اندازهٔ کافی بلند است"]
    with NearDuplicateIndex(tmp_path) as index:
        assert index.find(np.arange(0), 0.9).tolist() == []
        for part in (texts[:2], [], texts[2:]):
            index.add(part, signatures(part))
        assert index.find(np.arange(5), 0.9).tolist() == [-1, -1, -1, 0, -1]
        assert index.find(np.arange(5)[::-1], 0.9).tolist() == [3, -1, -1, -1, -1]
        index.add([long], signatures([long]))  # after a search
        assert index.find(np.arange(6), 0.9)[5] == 0
        assert [index.text(number) for number in (4, 0)] == [texts[4], texts[0]]
