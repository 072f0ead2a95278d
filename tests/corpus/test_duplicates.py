"""Exact repetitions: keys are mixed as published, and caps agree with plain counting."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from translator.corpus.selecting.duplicates import beyond_cap, mix


def test_mix_is_splitmix64() -> None:
    """The first outputs of the published generator with seed 0: which pairs are held out depends on them."""
    assert [int(value) for value in mix(np.zeros(1, dtype=np.uint64), 0)] == [0xE220A8397B1DCDAF]
    assert [int(value) for value in mix(np.zeros(1, dtype=np.uint64), 1)] == [0x6E789E6AA1B965F4]


@given(st.lists(st.integers(0, 6)), st.integers(1, 8))
def test_cap_marks_every_occurrence_of_a_key_beyond_the_limit(keys: list[int], cap: int) -> None:
    seen: Counter[int] = Counter()
    expected = []
    for key in keys:
        seen[key] += 1
        expected.append(seen[key] > cap)
    assert beyond_cap(np.array(keys, dtype=np.uint64), cap).tolist() == expected
