"""Top-k over the vocabulary: equal to a stable sort, ties included."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.search.continuations import best_continuations, largest


@settings(deadline=None, max_examples=200)
@given(
    rows=st.integers(1, 4),
    size=st.integers(1, 150),
    count=st.integers(1, 12),
    levels=st.sampled_from([1, 2, 4, 9, 30, 60]),
    seed=st.integers(0, 10**6),
    runs_behind=st.booleans(),
)
def test_the_largest_values_are_those_of_a_stable_sort(
    rows: int, size: int, count: int, levels: int, seed: int, runs_behind: bool
) -> None:
    # Few different values, so that there are many ties; the lowest is minus infinity.
    generator = torch.Generator().manual_seed(seed)
    whole_numbers = torch.randint(levels, (rows, size), generator=generator)
    values = whole_numbers.float().log()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("translator.search.continuations.runs_behind", lambda device: runs_behind)
        best = largest(values, count)
    sorted_values, sorted_indices = values.sort(dim=1, descending=True, stable=True)
    expected_values = sorted_values[:, :count]
    expected_indices = sorted_indices[:, :count]
    assert torch.equal(best.values, expected_values)
    # Which of the forbidden entries are returned is open.
    is_allowed = best.values > -torch.inf
    assert torch.equal(best.indices[is_allowed], expected_indices[is_allowed])


@pytest.mark.parametrize("runs_behind", [False, True])
def test_each_index_is_returned_once_even_if_all_values_are_minus_infinity(
    runs_behind: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("translator.search.continuations.runs_behind", lambda device: runs_behind)
    best = largest(torch.full((2, 9), -torch.inf), 4)
    assert [len(set(row)) for row in best.indices.tolist()] == [4, 4]


@pytest.mark.parametrize("is_masked", [False, True])
def test_pad_unk_and_sos_are_no_continuations_but_count_in_the_distribution(is_masked: bool) -> None:
    logits = torch.tensor([[5.0, 4.0, 3.0, 0.0, 1.0, 2.0]])
    forbidden = torch.tensor([[True, True, True, False, False, False]]) if is_masked else None
    best = best_continuations(logits, 2, forbidden)
    assert best.tokens.tolist() == [[5, 4]]
    assert torch.equal(best.log_probabilities[0], logits[0].log_softmax(0)[[5, 4]])


def test_a_forbidden_token_has_a_log_probability_of_minus_infinity() -> None:
    forbidden = torch.tensor([[True, True, True, True, True, False]])
    best = best_continuations(torch.zeros(1, 6), 3, forbidden)
    assert best.tokens[0, 0] == 5
    assert best.log_probabilities[0, 1:].tolist() == [-torch.inf, -torch.inf]
