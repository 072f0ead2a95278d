"""Occurrences beyond a cap, against counting them one by one."""

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.corpus.duplicates.caps import beyond_cap


def test_the_first_ones_stay() -> None:
    keys = np.array([7, 5, 7, 7, 5, 7], dtype=np.uint64)
    assert beyond_cap(keys, 2).tolist() == [False, False, False, True, False, True]
    assert beyond_cap(keys, 1).tolist() == [False, False, True, True, True, True]
    assert not beyond_cap(keys, 4).any()


@settings(deadline=None)
@given(st.lists(st.integers(0, 6)), st.integers(1, 8))
def test_against_counting(keys: list[int], cap: int) -> None:
    seen: Counter[int] = Counter()
    expected = []
    for key in keys:
        seen[key] += 1
        expected.append(seen[key] > cap)
    assert beyond_cap(np.array(keys, dtype=np.uint64), cap).tolist() == expected
