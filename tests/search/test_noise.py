"""Random numbers that belong to a sentence."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.search.noise import uniform_noise
from translator.special_tokens import EOS, PAD

SOURCE = torch.tensor([[5, 6, EOS, PAD], [5, 6, 7, EOS], [8, EOS, PAD, PAD]])


@settings(deadline=None, max_examples=30)
@given(st.permutations(range(3)), st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 30))
def test_mates_order_padding_and_how_much_is_wanted_change_nothing(
    order: list[int], seed: int, draws: int, steps: int
) -> None:
    together = uniform_noise(SOURCE[order], seed, draws, steps)
    assert together.shape == (3, draws, steps)
    for place, row in enumerate(order):
        alone = uniform_noise(SOURCE[row][SOURCE[row] != PAD].unsqueeze(0), seed, draws + 1, steps + 5)
        assert torch.equal(together[place], alone[0, :draws, :steps])


def test_sentences_seeds_and_draws_have_numbers_of_their_own() -> None:
    numbers = torch.cat([uniform_noise(SOURCE, seed, 3, 20).flatten() for seed in (0, 1, 2**32 - 1)])
    assert len(set(numbers.tolist())) == 3 * 3 * 3 * 20


def test_the_numbers_are_uniform() -> None:
    numbers = uniform_noise(SOURCE, 7, 10, 1000).flatten()
    assert numbers.min() >= 0 and numbers.max() < 1
    counts = torch.histc(numbers, bins=20, min=0, max=1)
    expected = len(numbers) / 20
    assert ((counts - expected) ** 2 / expected).sum() < 50  # of 19 degrees of freedom; exceeded once in 10,000


def test_they_are_the_same_on_every_machine() -> None:
    assert uniform_noise(SOURCE, 1, 1, 2)[:, 0, 1].tolist() == [
        0.73670530949455,
        0.750245483569005,
        0.28648754904944485,
    ]
