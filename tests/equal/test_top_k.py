"""The largest values in two stages equal those of the core, ties included."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.core.search import largest
from translator.speed.top_k import GROUP_SIZE, largest_of_groups


@settings(max_examples=150)
@given(
    rows=st.integers(1, 4),
    size=st.integers(1, 5 * GROUP_SIZE),
    count=st.integers(1, 12),
    levels=st.sampled_from([1, 2, 4, 9, 30, 60]),
    seed=st.integers(0, 10**6),
)
def test_both_forms_find_the_same_values_and_of_ties_the_lowest_indices(
    rows: int, size: int, count: int, levels: int, seed: int
) -> None:
    # Few different values, so that there are many ties; the lowest is minus infinity.
    values = torch.randint(levels, (rows, size), generator=torch.Generator().manual_seed(seed)).float().log()
    best, indices = largest_of_groups(values, count)
    expected, expected_indices = largest(values, count)
    assert torch.equal(best, expected)
    # Which of the forbidden entries are returned is open.
    is_allowed = best > -torch.inf
    assert torch.equal(indices[is_allowed], expected_indices[is_allowed])


@pytest.mark.parametrize("function", [largest, largest_of_groups])
def test_each_index_is_returned_once_even_if_all_values_are_minus_infinity(function: object) -> None:
    _, indices = function(torch.full((2, 9), -torch.inf), 4)  # type: ignore[operator]
    assert [len(set(row)) for row in indices.tolist()] == [4, 4]
