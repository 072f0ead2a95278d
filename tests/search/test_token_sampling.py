"""Sampling: its draws, its truncation, and its noise."""

from collections import Counter

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.support.known_model import KnownModel, sources
from translator.config import SearchConfig
from translator.core import EOS, PAD
from translator.core.hypothesis import Hypothesis
from translator.search.token_sampling import draw, probabilities, sample_hypotheses, uniform_noise


def drawn_hypotheses(
    model: KnownModel, source: Tensor, limits: list[int], config: SearchConfig, count: int
) -> list[Hypothesis]:
    """Return the draws of all sentences in one list."""
    results = sample_hypotheses(model, source, torch.tensor(limits), config, count)
    return [hypothesis for hypotheses in results for hypothesis in hypotheses]


NAMES = [10, 11, 12, 13]
LIMITS = [8, 3, 6, 1]


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(0, 100), st.integers(1, 4), st.permutations(range(4)))
def test_draws_are_ranked_and_depend_neither_on_the_batch_nor_on_the_number_of_draws(
    seed: int, noise_seed: int, count: int, order: list[int]
) -> None:
    model = KnownModel(seed)
    config = SearchConfig(temperature=1.3, seed=noise_seed)
    names = [NAMES[sentence] for sentence in order]
    limits = [LIMITS[sentence] for sentence in order]
    results = sample_hypotheses(model, sources(*names), torch.tensor(limits), config, count)
    for name, limit, hypotheses in zip(names, limits, results, strict=True):
        alone = drawn_hypotheses(model, sources(name), [limit], config, count)
        assert alone == hypotheses
        assert alone == sorted(alone, key=lambda hypothesis: -hypothesis.normalized_score)
        more_draws = drawn_hypotheses(model, sources(name), [limit], config, count + 2)
        assert Counter(alone) <= Counter(more_draws)


def test_tokens_are_drawn_in_proportion_to_their_probability() -> None:
    distributions = torch.tensor([[0, 0.2, 0.3, 0.5, 0]] * 1000, dtype=torch.float64)
    noise = torch.linspace(0, 1 - 2.0**-53, 1000, dtype=torch.float64)  # the extremes draw the first and the last
    assert Counter(draw(distributions, noise).tolist()) == {1: 200, 2: 300, 3: 500}


def truncated_by_definition(logits: Tensor, top_k: int, top_p: float) -> Tensor | None:
    """Return the probabilities (V,) after truncation, or None if a rounding error decides which tokens stay."""
    by_likelihood = sorted(range(len(logits)), key=lambda token: (-logits[token].item(), token))
    if top_k > 0:
        by_likelihood = by_likelihood[:top_k]
    if top_p < 1:
        # A token stays if the more likely ones have less than `top_p` together.
        sorted_probabilities = logits[by_likelihood].softmax(0)
        probability_before = sorted_probabilities.cumsum(0) - sorted_probabilities
        if (probability_before - top_p).abs().min() < 1e-9:
            return None
        remaining_count = int((probability_before < top_p).sum())
        by_likelihood = by_likelihood[:remaining_count]
    truncated = torch.zeros(len(logits), dtype=torch.float64)
    truncated[by_likelihood] = logits[by_likelihood].softmax(0)
    return truncated


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    levels=st.integers(1, 9),
    top_k=st.integers(0, 15),
    top_p=st.floats(0.01, 1.0),
    temperature=st.sampled_from([0.5, 1.0, 3.0]),
)
def test_truncation_keeps_the_likeliest_tokens_and_of_ties_the_lowest_ids(
    seed: int, levels: int, top_k: int, top_p: float, temperature: float
) -> None:
    # Few different logits, so that there are many ties.
    generator = torch.Generator().manual_seed(seed)
    logits = 0.7 * torch.randint(levels, (3, 12), generator=generator)
    no_token_forbidden = torch.zeros(3, 12, dtype=torch.bool)
    config = SearchConfig(top_k=top_k, top_p=top_p, temperature=temperature)
    truncated = probabilities(logits, no_token_forbidden, config)
    tempered_logits = logits.double() / temperature
    for row, row_logits in zip(truncated, tempered_logits, strict=True):
        expected = truncated_by_definition(row_logits, top_k, top_p)
        if expected is not None:
            torch.testing.assert_close(row, expected, rtol=1e-6, atol=1e-7)


def test_the_noise_is_the_same_on_every_machine() -> None:
    source = torch.tensor([[5, 6, EOS, PAD], [5, 6, 7, EOS], [8, EOS, PAD, PAD]])
    expected = [0.7221312613312465, 0.9959387866659966, 0.7393496623647781]
    assert uniform_noise(source, 1, 1, 2)[:, 0, 1].tolist() == expected
