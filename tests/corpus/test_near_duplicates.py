"""Near-duplicates: how often they are found, which of them go, and the cost."""

import random
from collections.abc import Iterator
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
from translator.errors import StorageError

SHORTEST = MINIMUM_NGRAMS + NGRAM - 1
LETTERS = "abcdefghijklmnopابپتثجچحخدذرزژسش"


def words(count: int, seed: int, shortest: int = SHORTEST, longest: int = 200) -> list[str]:
    generator = random.Random(seed)
    texts = []
    for _ in range(count):
        length = generator.randint(shortest, longest)
        texts.append("".join(generator.choices(LETTERS, k=length)))
    return texts


def edited(text: str, edits: int, generator: random.Random) -> str:
    characters = list(text)
    for _ in range(edits):
        characters[generator.randrange(len(characters))] = generator.choice(LETTERS)
    return "".join(characters)


def test_short_texts_have_no_signature() -> None:
    texts = words(3, 1, SHORTEST, SHORTEST)
    keys = signatures(["", "abc", texts[0][:-1], *texts])
    assert keys.shape == (6, BANDS)
    assert not keys[:3].any()
    assert keys[3:].all()
    assert signatures([]).shape == (0, BANDS)


def test_a_signature_depends_on_its_text_alone() -> None:
    """This holds even where one text, or all together, exceed the characters processed at a time."""
    texts = [*words(2, 2, 40_000, 70_000), *words(600, 3, 20)]
    together = signatures(texts)
    assert np.array_equal(together[::-1], signatures(texts[::-1]))
    for number in (0, 1, 2, 300, 601):
        assert np.array_equal(together[number], signatures([texts[number]])[0])


def ngrams(text: str) -> set[str]:
    return {text[start : start + 5] for start in range(len(text) - 4)}


def jaccard(first: str, second: str) -> float:
    shared = ngrams(first) & ngrams(second)
    return len(shared) / len(ngrams(first) | ngrams(second))


def test_signatures_match_as_often_as_the_lsh_formula_predicts() -> None:
    """Leskovec, Rajaraman, Ullman: Mining of Massive Datasets, section 3.4.2: 1 - (1 - s^r)^b."""
    # Pairs of a text and itself after up to twelve edits.
    generator = random.Random(7)
    texts = words(3000, 8)
    edited_texts = [edited(text, generator.randint(0, 12), generator) for text in texts]

    # How often the signatures of such a pair should match, and whether they do.
    pairs = zip(texts, edited_texts, strict=True)
    similarity = np.array([jaccard(text, edited_text) for text, edited_text in pairs])
    predicted = 1 - (1 - similarity**ROWS) ** BANDS
    equal_bands = signatures(texts) == signatures(edited_texts)
    matches = equal_bands.any(axis=1)

    for low, high in ((0.3, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.0)):
        in_range = (similarity >= low) & (similarity < high)
        assert in_range.sum() > 100
        error = matches[in_range].mean() - predicted[in_range].mean()
        assert abs(error) < 0.08


FAMILY = st.integers(0, 4).map(lambda start: "abcdefghijkl"[start : start + 8])
"""Texts of four n-grams, of which neighbours share three: similarities of 1, 3/5, 1/3, 1/7 and 0."""


@settings(deadline=None, max_examples=300)
@given(st.data(), st.sampled_from([1 / 7, 1 / 3, 3 / 5, 1.0]))
def test_each_dropped_near_duplicate_resembles_an_earlier_kept_pair(data: st.DataObject, threshold: float) -> None:
    # Texts with keys of few values, which many share by chance, and some of the texts in any order.
    texts = data.draw(st.lists(FAMILY, min_size=1, max_size=14))
    row = st.lists(st.integers(0, 3), min_size=BANDS, max_size=BANDS)
    keys = np.array([data.draw(row) for _ in texts], dtype=np.uint64)
    numbers_of_texts = st.sampled_from(range(len(texts)))
    order = data.draw(st.lists(numbers_of_texts, unique=True))
    numbers = np.array(order, dtype=np.int64)

    survivors = find_near_duplicates(keys, numbers, threshold, texts.__getitem__).tolist()
    for number, survivor in enumerate(survivors):
        if survivor >= 0:
            assert survivor in order[: order.index(number)]
            assert survivors[survivor] == -1
            assert jaccard(texts[number], texts[survivor]) >= threshold


def test_no_texts_have_no_near_duplicates() -> None:
    keys = np.zeros((0, BANDS), dtype=np.uint64)
    assert find_near_duplicates(keys, np.arange(0), 0.9, str).tolist() == []


@pytest.mark.parametrize("alike", [True, False])
def test_near_duplicate_search_is_linear_even_if_all_share_one_key(alike: bool) -> None:
    count = 3000
    base = "".join(random.Random(6).choices(LETTERS, k=64))
    texts = [base if alike else f"{number:05}" * 4 for number in range(count)]
    texts_read = 0

    def text_of(number: int) -> str:
        nonlocal texts_read
        texts_read += 1
        return texts[number]

    keys = np.ones((count, BANDS), dtype=np.uint64)
    survivors = find_near_duplicates(keys, np.arange(count), 0.9, text_of)
    duplicates_of_first = np.count_nonzero(survivors == 0)
    assert duplicates_of_first == (count - 1 if alike else 0)
    assert texts_read <= 4 * count


LONG = "he said that he would come tomorrow|او گفت که فردا خواهد آمد و ما را خواهد دید"
OTHER = "another one that is long enough to be compared|یکی دیگر که به اندازهٔ کافی بلند است"
TEXTS = [LONG, "short|کوتاه", "", LONG + "!", OTHER]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[NearDuplicateIndex]:
    """An index to which TEXTS were added in three parts."""
    with NearDuplicateIndex(tmp_path) as index:
        for texts in (TEXTS[:2], [], TEXTS[2:]):
            index.add(texts, signatures(texts))
        yield index


def test_an_empty_index_finds_nothing(tmp_path: Path) -> None:
    with NearDuplicateIndex(tmp_path) as index:
        assert index.find(np.arange(0), 0.9).tolist() == []


def test_index_returns_its_texts_in_any_order(index: NearDuplicateIndex) -> None:
    for number in (4, 0, 2, 3, 1):
        assert index.text(number) == TEXTS[number]


def test_the_first_of_two_near_duplicates_survives(index: NearDuplicateIndex) -> None:
    numbers = np.arange(len(TEXTS))
    assert index.find(numbers, 0.9).tolist() == [-1, -1, -1, 0, -1]
    assert index.find(numbers[::-1], 0.9).tolist() == [3, -1, -1, -1, -1]


def test_a_text_added_after_a_search_is_found(index: NearDuplicateIndex) -> None:
    index.find(np.arange(len(TEXTS)), 0.9)
    index.add([LONG], signatures([LONG]))
    assert index.find(np.arange(6), 0.9)[5] == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full here")
@pytest.mark.parametrize(("file", "texts", "then"), [("texts", 1, "leave"), ("bands", 1000, ""), ("bands", 1, "find")])
def test_index_reports_a_full_disk(tmp_path: Path, file: str, texts: int, then: str) -> None:
    (tmp_path / file).symlink_to("/dev/full")
    with pytest.raises(StorageError, match=r"cannot write .*: the disk is full"), NearDuplicateIndex(tmp_path) as index:
        index.add([LONG] * texts, signatures([LONG] * texts))
        if then == "find":
            index.find(np.arange(texts), 0.9)
