"""The length penalty and the bound that stops a beam."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.search.length_penalty import best_reachable, length_penalty


def test_the_formula_of_wu_et_al() -> None:
    assert length_penalty(1, 0.7) == 1.0
    assert length_penalty(7, 1.0) == pytest.approx(2.0)
    assert length_penalty(19, 0.5) == pytest.approx(2.0)
    assert length_penalty(100, 0.0) == 1.0


@given(st.floats(-50, 0), st.lists(st.floats(-5, 0), min_size=1, max_size=20), st.integers(1, 20), st.floats(0, 3))
def test_no_continuation_beats_the_bound(score: float, further: list[float], so_far: int, alpha: float) -> None:
    longest = so_far + len(further)
    bound = best_reachable(score, longest, alpha)
    for count in range(1, len(further) + 1):
        total = score + sum(further[:count])
        assert total / length_penalty(so_far + count, alpha) <= bound + 1e-9


def test_the_bound_is_reached_by_certain_tokens_up_to_the_longest_length() -> None:
    assert best_reachable(-3.0, 13, 1.0) == pytest.approx(-1.0)
