"""Near-duplicates, against comparing every pair with every other, and against a plain statement of the rule."""

import functools
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from translator.config import NormalizationConfig, SourceConfig
from translator.corpus.duplicates import near
from translator.corpus.duplicates.minhash import BANDS, signatures
from translator.corpus.duplicates.near import near_duplicates
from translator.corpus.normalize import Normalizer, fold
from translator.corpus.sources import read_pairs

DATA = Path("../shared/data")
LETTERS = "abcdefghijklmnopابپتثجچحخدذرزژسش"


@functools.cache
def ngrams(text: str) -> frozenset[str]:
    return frozenset(text[start : start + 5] for start in range(len(text) - 4))


def jaccard(first: str, second: str) -> float:
    one, other = ngrams(first), ngrams(second)
    return len(one & other) / len(one | other)


def all_of(count: int) -> NDArray[np.int64]:
    return np.arange(count, dtype=np.int64)


def planted(seed: int) -> list[str]:
    """Return texts, of which about a third are near-duplicates of others, in random order."""
    generator = random.Random(seed)
    texts = ["".join(generator.choices(LETTERS, k=generator.randint(64, 250))) for _ in range(180)]
    for text in generator.sample(texts, 70):
        for _ in range(generator.randint(1, 3)):
            copy = list(text)
            for _ in range(generator.randint(0, 5)):
                copy[generator.randrange(len(copy))] = generator.choice(LETTERS)
            texts.append("".join(copy))
    generator.shuffle(texts)
    return texts


def check_against_all_comparisons(texts: list[str], threshold: float, recall: float, at_least: int) -> None:
    survivors = near_duplicates(signatures(texts), all_of(len(texts)), threshold, texts.__getitem__)
    for number, survivor in enumerate(survivors.tolist()):
        if survivor >= 0:
            assert survivor < number
            assert survivors[survivor] == -1
            assert jaccard(texts[number], texts[survivor]) >= threshold
    kept: list[int] = []
    expected = 0
    for number, text in enumerate(texts):
        if any(jaccard(text, texts[other]) >= threshold for other in kept):
            expected += 1
        else:
            kept.append(number)
    assert expected >= at_least
    assert recall * expected <= np.count_nonzero(survivors >= 0) <= expected / recall


@pytest.mark.parametrize(("seed", "threshold", "recall"), [(1, 0.9, 0.97), (2, 0.9, 0.97), (3, 0.8, 0.9)])
def test_planted_ones_are_found_and_no_others(seed: int, threshold: float, recall: float) -> None:
    check_against_all_comparisons(planted(seed), threshold, recall, at_least=40)


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared corpora are not here")
def test_real_ones_are_found_and_no_others() -> None:
    """Of Mizan: a passage that its lines 1000 to 1170 and 7115 to 7215 both have, cut into lines in two ways."""
    normalizer = Normalizer(NormalizationConfig())
    mizan = SourceConfig(name="mizan", path=str(DATA / "mizan.zip"), max_pairs=7215)
    texts = [
        f"{fold(normalizer.source(pair.source))}|{fold(normalizer.target(pair.target))}"
        for pair in read_pairs(mizan)
        if 1000 <= pair.line <= 1170 or pair.line >= 7115
    ]
    check_against_all_comparisons([text for text in texts if len(text) >= 64], 0.8, 0.8, at_least=15)


def plain_rule(bands: list[list[int]], candidates: list[int], threshold: float, texts: list[str]) -> list[int]:
    """The rule as it is written down: one pair after another, in order."""
    survivors = [-1] * len(texts)
    place = {number: position for position, number in enumerate(candidates)}
    for later in candidates:
        earlier = set()
        for band in range(BANDS):
            key = bands[later][band]
            sharing = [other for other in candidates[: place[later]] if key and bands[other][band] == key]
            earlier |= {sharing[0], sharing[-1]} if sharing else set()
        for number in sorted(earlier, key=place.__getitem__):
            survivor = survivors[number] if survivors[number] >= 0 else number
            if jaccard(texts[later], texts[survivor]) >= threshold:
                survivors[later] = survivor
                break
    return survivors


FAMILY = st.integers(0, 4).map(lambda start: "abcdefghijkl"[start : start + 8])
"""Texts of four n-grams, of which neighbours share three: similarities of 1, 3/5, 1/3, 1/7 and 0."""


@settings(deadline=None, max_examples=400)
@given(st.data(), st.integers(1, 4), st.sampled_from([1 / 7, 1 / 3, 3 / 5, 1.0]))
def test_against_the_plain_rule(data: st.DataObject, batch: int, threshold: float) -> None:
    texts = data.draw(st.lists(FAMILY, max_size=14))
    row = st.lists(st.integers(0, 3), min_size=BANDS, max_size=BANDS)
    bands = data.draw(st.lists(row, min_size=len(texts), max_size=len(texts)))
    candidates = data.draw(st.lists(st.sampled_from(range(len(texts))), unique=True)) if texts else []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near, "_BATCH", batch)
        survivors = near_duplicates(
            np.array(bands, dtype=np.uint64).reshape(len(texts), BANDS),
            np.array(candidates, dtype=np.int64),
            threshold,
            texts.__getitem__,
        )
    assert survivors.tolist() == plain_rule(bands, candidates, threshold, texts)


def test_likeness_is_not_handed_on() -> None:
    """The second repeats the first, the third the second; but the third is not near enough to the first."""
    base = "".join(random.Random(4).choices(LETTERS, k=200))
    texts = [base, "!" * 20 + base[20:], "!" * 20 + base[20:-20] + "?" * 20]
    assert jaccard(texts[0], texts[1]) > 0.85 and jaccard(texts[1], texts[2]) > 0.85
    assert jaccard(texts[0], texts[2]) < 0.85
    bands = np.ones((3, BANDS), dtype=np.uint64)
    assert near_duplicates(bands, all_of(3), 0.85, texts.__getitem__).tolist() == [-1, 0, -1]


def test_who_takes_part_and_in_which_order() -> None:
    text = "".join(random.Random(5).choices(LETTERS, k=100))
    texts = [text] * 4
    found = near_duplicates(signatures(texts), np.array([3, 1, 2], dtype=np.int64), 0.9, texts.__getitem__)
    assert found.tolist() == [-1, 3, 3, -1]
    assert near_duplicates(signatures(texts), all_of(0), 0.9, texts.__getitem__).tolist() == [-1] * 4
    assert near_duplicates(np.zeros((4, BANDS), np.uint64), all_of(4), 0.9, texts.__getitem__).tolist() == [-1] * 4


@pytest.mark.parametrize("alike", [True, False])
def test_the_cost_is_linear_even_if_all_share_one_key(alike: bool) -> None:
    count = 3000
    base = "".join(random.Random(6).choices(LETTERS, k=64))
    texts = [base if alike else f"{number:05}" * 4 for number in range(count)]
    asked = 0

    def text_of(number: int) -> str:
        nonlocal asked
        asked += 1
        return texts[number]

    found = near_duplicates(np.ones((count, BANDS), dtype=np.uint64), all_of(count), 0.9, text_of)
    assert np.count_nonzero(found == 0) == (count - 1 if alike else 0)
    assert asked <= 4 * count


def test_a_memory_map_will_do(tmp_path: Path) -> None:
    texts = planted(7)
    bands = signatures(texts)
    (tmp_path / "bands").write_bytes(bands.tobytes())
    mapped = np.memmap(tmp_path / "bands", dtype=np.uint64, mode="r", shape=bands.shape)
    expected = near_duplicates(bands, all_of(len(texts)), 0.9, texts.__getitem__)
    assert np.array_equal(near_duplicates(mapped, all_of(len(texts)), 0.9, texts.__getitem__), expected)
