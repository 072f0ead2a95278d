"""Which tokens may be drawn."""

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from translator.search.sampling import Distribution
from translator.search.truncation import keep_top_k, keep_top_p
from translator.special_tokens import PAD, SOS, UNK

SIZE = 12


def random_logits(seed: int, levels: int) -> torch.Tensor:
    """(3, V) with equal ones among them."""
    return torch.randint(levels, (3, SIZE), generator=torch.Generator().manual_seed(seed)).float() * 0.7


def ranked(row: torch.Tensor) -> list[int]:
    """Tokens, the likeliest first, of equal ones the lowest."""
    return sorted(range(len(row)), key=lambda token: (-row[token].item(), token))


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 15))
def test_the_k_likeliest_are_kept(seed: int, levels: int, k: int) -> None:
    logits = random_logits(seed, levels)
    for row, kept in zip(logits, keep_top_k(logits, k), strict=True):
        expected = set(ranked(row)[:k])
        assert set(kept.isfinite().nonzero().squeeze(1).tolist()) == expected
        assert all(kept[token] == row[token] for token in expected)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10**6), st.integers(1, 9), st.floats(0.01, 0.99))
def test_the_nucleus_is_the_fewest_likeliest_that_reach_p(seed: int, levels: int, p: float) -> None:
    logits = random_logits(seed, levels)
    for row, kept in zip(logits, keep_top_p(logits, p), strict=True):
        probabilities = row.double().softmax(0)
        expected, reached = [], 0.0
        for token in ranked(row):
            if reached >= p:
                break
            expected.append(token)
            reached += probabilities[token].item()
            assume(abs(reached - p) > 1e-9)
        assert set(kept.isfinite().nonzero().squeeze(1).tolist()) == set(expected)
        assert all(kept[token] == row[token] for token in expected)


def test_a_nucleus_has_at_least_one_token() -> None:
    assert keep_top_p(torch.tensor([[0.0, 9.0, 0.0]]), 1e-9).isfinite().tolist() == [[False, True, False]]


def test_forbidden_tokens_have_no_probability_and_the_others_keep_their_proportions() -> None:
    logits = torch.randn(2, SIZE)
    forbidden = torch.zeros(2, SIZE, dtype=torch.bool)
    forbidden[:, 5:] = True
    assert torch.equal(Distribution().probabilities(logits) == 0, torch.arange(SIZE).expand(2, -1) <= SOS)
    probabilities = Distribution().probabilities(logits, forbidden)
    assert (probabilities[:, 5:] == 0).all() and (probabilities[:, [PAD, UNK]] > 0).all()
    torch.testing.assert_close(probabilities[:, :5], logits[:, :5].double().softmax(1))


def test_the_temperature_comes_first_then_k_then_p() -> None:
    logits = torch.tensor([[-9.0, -9.0, -9.0, 0.4, 0.3, 0.2, 0.1]]).log()
    # Squared and normalized: 16, 9, 4, 1 of 30. Of the first three, 16 and 9 of 29 have 0.86.
    probabilities = Distribution(temperature=0.5, top_k=3, top_p=0.8).probabilities(
        torch.cat((torch.zeros(1, 3), logits[:, 3:]), dim=1)
    )
    assert probabilities[0].tolist() == pytest.approx([0, 0, 0, 16 / 25, 9 / 25, 0, 0])
