"""Losses by length and by source, against sums over the sentences one by one."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.data.pair_store import PairStore
from translator.data.token_store import TokenStore
from translator.training.breakdown import Breakdown, Sources

SOURCES = Sources.of_counts({"mizan": 10, "empty": 0, "tep": 5})


def test_a_sentence_is_in_the_bucket_of_its_length() -> None:
    breakdown = Breakdown(SOURCES)
    lengths = {1: "01-08", 8: "01-08", 9: "09-16", 16: "09-16", 17: "17-32", 32: "17-32", 33: "33-64", 64: "33-64"}
    for tokens, bucket in (lengths | {65: "65-up", 5000: "65-up"}).items():
        means = breakdown.means(breakdown.sums([2.0 * tokens], [tokens], [0]))
        assert means.by_length == {bucket: 2.0}


def test_pairs_are_numbered_as_the_store_numbers_them() -> None:
    def store(count: int) -> TokenStore:
        return TokenStore(np.zeros(count, np.uint16), np.arange(count + 1, dtype=np.int64))

    counts = {"mizan": 10, "empty": 0, "tep": 5}
    pairs = PairStore(list(counts), [store(n) for n in counts.values()], [store(n) for n in counts.values()])
    assert SOURCES.starts.tolist() == pairs.starts.tolist()
    assert SOURCES.parts(range(15)).tolist() == [pairs.part(number) for number in range(15)]
    assert [SOURCES.origin(number) for number in (0, 9, 10, 14)] == [
        ("mizan", 1),
        ("mizan", 10),
        ("tep", 1),
        ("tep", 5),
    ]


@given(
    st.lists(st.tuples(st.integers(0, 14), st.integers(1, 80), st.floats(0, 500)), min_size=1, max_size=40),
    st.integers(0, 40),
)
def test_sums_of_two_parts_add_up_to_those_of_the_whole(rows: list[tuple[int, int, float]], cut: int) -> None:
    breakdown = Breakdown(SOURCES)
    numbers, tokens, losses = (list(column) for column in zip(*rows, strict=True))
    parts = sum(breakdown.sums(losses[s], tokens[s], numbers[s]) for s in (slice(0, cut), slice(cut, None)))
    assert isinstance(parts, np.ndarray)
    means = breakdown.means(parts)
    assert means.loss == pytest.approx(sum(losses) / sum(tokens))
    for name, of_source in (("mizan", range(10)), ("tep", range(10, 15))):
        own = [row for row in rows if row[0] in of_source]
        assert (name in means.by_source) == bool(own)
        if own:
            count = sum(row[1] for row in own)
            assert means.by_source[name] == pytest.approx(sum(row[2] for row in own) / count)
            assert means.mixture[name] == pytest.approx(count / sum(tokens))
    assert "empty" not in means.by_source


def test_nothing_seen_gives_no_number() -> None:
    breakdown = Breakdown(SOURCES)
    means = breakdown.means(breakdown.sums([], [], []))
    assert math.isnan(means.loss)
    assert (means.by_length, means.by_source, means.mixture) == ({}, {}, {})
