"""Counts of lengths: they agree with a plain count, add up over any chunks, and survive JSON."""

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.corpus.statistics import CHARACTER_BINS, RATIO_BINS, WORD_BINS, TextStatistics, quantile_bin

WORDS = st.text(alphabet="abسلام\u200c.", min_size=1, max_size=12)
TEXTS = st.lists(WORDS, min_size=1, max_size=8).map(" ".join)
PAIRS = st.lists(st.tuples(TEXTS, TEXTS), max_size=12)


def of(pairs: list[tuple[str, str]]) -> TextStatistics:
    return TextStatistics.of([source for source, _ in pairs], [target for _, target in pairs])


@settings(deadline=None)
@given(PAIRS, PAIRS)
def test_independent_of_chunks(first: list[tuple[str, str]], second: list[tuple[str, str]]) -> None:
    assert of(first + second) == of(first) + of(second)


@settings(deadline=None)
@given(PAIRS)
def test_as_counted_plainly(pairs: list[tuple[str, str]]) -> None:
    statistics = of(pairs)
    assert statistics.pairs == len(pairs)
    for side, number in ((statistics.source, 0), (statistics.target, 1)):
        texts = [pair[number] for pair in pairs]
        assert side.words == sum(len(text.split()) for text in texts)
        assert side.characters == sum(map(len, texts))
        words, characters = [0] * WORD_BINS, [0] * CHARACTER_BINS
        for text in texts:
            words[len(text.split()) - 1] += 1
            characters[(len(text) - 1) // 10] += 1
        assert list(side.by_words) == words
        assert list(side.by_characters) == characters
    ratios = [0] * RATIO_BINS
    for source, target in pairs:
        ratios[min(max(round(8 * math.log2(len(target) / len(source))) + 20, 0), 40)] += 1
    assert list(statistics.by_ratio) == ratios
    assert statistics.with_zwnj == sum("\u200c" in target for _, target in pairs)


@pytest.mark.parametrize(
    ("words", "place"), [(1, 0), (2, 1), (100, 99), (101, 100), (5000, 100)], ids=lambda value: str(value)
)
def test_words_and_over(words: int, place: int) -> None:
    text = " ".join(["a"] * words)
    by_words = of([(text, text)]).source.by_words
    assert by_words[place] == 1
    assert sum(by_words) == 1


@pytest.mark.parametrize(
    ("characters", "place"),
    [(1, 0), (10, 0), (11, 1), (1000, 99), (1001, 100), (9999, 100)],
    ids=lambda value: str(value),
)
def test_characters_and_over(characters: int, place: int) -> None:
    assert of([("a" * characters, "ب")]).source.by_characters[place] == 1


@pytest.mark.parametrize(
    ("source", "target", "place"),
    [(8, 8, 20), (8, 16, 28), (16, 8, 12), (1, 100, 40), (100, 1, 0), (100, 105, 21), (100, 104, 20)],
)
def test_ratio(source: int, target: int, place: int) -> None:
    assert of([("a" * source, "ب" * target)]).by_ratio[place] == 1


def test_share_of_zwnj() -> None:
    assert of([("I go", "می\u200cروم"), ("you\u200cgo", "برو")]).zwnj_share == 0.5
    assert of([]).zwnj_share == 0


@settings(deadline=None)
@given(PAIRS)
def test_json_and_back(pairs: list[tuple[str, str]]) -> None:
    statistics = of(pairs)
    assert TextStatistics.from_json(json.loads(json.dumps(statistics.to_json()))) == statistics


@pytest.mark.parametrize(
    "change",
    [
        {"pairs": -1},
        {"pairs": "many"},
        {"pairs": 1.5},
        {"source": None},
        {"by_ratio": [0] * (RATIO_BINS - 1)},
        {"by_ratio": [0] * (RATIO_BINS + 1)},
        {"by_ratio": {}},
        {"target": {"words": 1}},
    ],
    ids=str,
)
def test_damaged_values_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="TextStatistics"):
        TextStatistics.from_json({**of([]).to_json(), **change})


@pytest.mark.parametrize("values", [None, 3, "text", []], ids=str)
def test_other_json_is_refused(values: Any) -> None:
    with pytest.raises(ValueError, match="TextStatistics"):
        TextStatistics.from_json(values)


def test_quantiles() -> None:
    histogram = [0, 5, 4, 0, 1]
    assert [quantile_bin(histogram, share) for share in (0.1, 0.5, 0.51, 0.9, 0.91, 1.0)] == [1, 1, 2, 2, 4, 4]
    assert quantile_bin([0, 0, 0], 0.5) == 0
