"""Signatures: what they are, on what they do not depend, and how well they find what is alike."""

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.corpus.duplicates.jaccard import similarities
from translator.corpus.duplicates.minhash import BANDS, MINIMUM_NGRAMS, ROWS, minima, signatures
from translator.corpus.duplicates.ngrams import NGRAM

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


def test_short_texts_have_none() -> None:
    texts = words(3, 1, SHORTEST, SHORTEST)
    found = signatures(["", "abc", texts[0][:-1], *texts])
    assert found.shape == (6, BANDS)
    assert found.dtype == np.uint64
    assert not found[:3].any()
    assert found[3:].all()
    assert signatures([]).shape == (0, BANDS)
    assert not signatures(["short"]).any()


def scrambled(value: int, seed: int) -> int:
    """SplitMix64, with Python's whole numbers."""
    value = (value + (seed + 1) * 0x9E3779B97F4A7C15) % 2**64
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    value = (value ^ value >> 27) * 0x94D049BB133111EB % 2**64
    return value ^ value >> 31


def plain_signature(text: str) -> list[int]:
    base = 0x9FB21C651E98DF25
    ngrams = []
    for start in range(len(text) - 4):
        value = 0
        for character in text[start : start + 5]:
            value = (value * base + ord(character)) % 2**64
        ngrams.append(scrambled(value, 0) >> 32)
    keys = []
    for band in range(BANDS):
        key = 0
        for row in range(ROWS):
            order = scrambled(band * ROWS + row, 1) >> 32 | 1
            key = (key * base + min(ngram * order % 2**32 for ngram in ngrams)) % 2**64
        keys.append(max(scrambled(key, 0), 1))
    return keys


def test_signatures_against_whole_numbers() -> None:
    texts = ["he said that he would come tomorrow|او گفت که فردا خواهد آمد و ما را خواهد دید", *words(5, 9)]
    assert signatures(texts).tolist() == [plain_signature(text) for text in texts]


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 2**32)), max_size=30), st.integers(0, 30))
def test_a_signature_depends_on_its_text_alone(entries: list[tuple[int, int]], cut: int) -> None:
    texts = [words(1, seed, length, length)[0] for length, seed in entries]
    together = signatures(texts)
    assert np.array_equal(together, np.concatenate([signatures(texts[:cut]), signatures(texts[cut:])]))
    assert np.array_equal(together[::-1], signatures(texts[::-1]))


def test_long_texts_and_many() -> None:
    """More characters than are worked on at a time, in one text and in all together."""
    texts = [*words(2, 2, 40_000, 70_000), *words(600, 3)]
    together = signatures(texts)
    for number in (0, 1, 2, 300, 601):
        assert np.array_equal(together[number], signatures([texts[number]])[0])


def test_orders_are_of_their_own() -> None:
    """In each order the first n-gram of a set is another one, mostly."""
    smallest = minima(words(50, 4))
    assert len(smallest) == BANDS * ROWS
    assert all(len(set(column)) > 0.99 * BANDS * ROWS for column in smallest.T.tolist())


def test_share_of_equal_minima_is_the_jaccard_similarity() -> None:
    generator = random.Random(5)
    texts = words(1500, 6)
    others = [edited(text, generator.randint(0, 8), generator) for text in texts]
    true = np.array(similarities(zip(texts, others, strict=True)))
    estimated = (minima(texts) == minima(others)).mean(axis=0)
    deviation = np.sqrt(np.maximum(true * (1 - true), 1e-9) / (BANDS * ROWS))
    different = true < 1
    standardized = (estimated - true)[different] / deviation[different]
    assert abs(standardized.mean()) < 0.15  # 1,300 values: a standard error of 0.03
    assert 0.85 < standardized.std() < 1.15
    assert (estimated[~different] == 1).all()


def test_found_as_often_as_the_formula_says() -> None:
    generator = random.Random(7)
    texts = words(3000, 8)
    others = [edited(text, generator.randint(0, 12), generator) for text in texts]
    true = np.array(similarities(zip(texts, others, strict=True)))
    found = (signatures(texts) == signatures(others)).any(axis=1)
    for low, high in ((0.3, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.0)):
        chosen = (true >= low) & (true < high)
        assert chosen.sum() > 100
        assert abs(found[chosen].mean() - (1 - (1 - true[chosen] ** ROWS) ** BANDS).mean()) < 0.08
    assert 1 - (1 - 0.9**ROWS) ** BANDS > 0.99
    assert 1 - (1 - 0.5**ROWS) ** BANDS < 0.04
