"""Sampling from a model with known probabilities, its truncation, and its noise."""

import math
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.support.known_model import KnownModel, sources
from translator.config import SearchConfig
from translator.core import EOS, PAD, SOS
from translator.core.hypothesis import Hypothesis
from translator.search.token_sampling import draw, probabilities, sample_hypotheses, uniform_noise


def drawn_hypotheses(
    model: KnownModel, source: Tensor, limits: list[int], config: SearchConfig, count: int
) -> list[Hypothesis]:
    """Return the draws of all sentences in one list."""
    results = sample_hypotheses(model, source, torch.tensor(limits), config, count)
    return [hypothesis for hypotheses in results for hypothesis in hypotheses]


def produced_tokens(hypothesis: Hypothesis) -> tuple[int, ...]:
    """Return the tokens of a hypothesis, with EOS if it is finished."""
    return (*hypothesis.tokens, EOS) if hypothesis.finished else hypothesis.tokens


def probabilities_of_outputs(model: KnownModel, limit: int, config: SearchConfig) -> dict[tuple[int, ...], float]:
    """Return the probability of each output of the sentence 10, by definition."""
    unfinished: dict[tuple[int, ...], float] = {(): 1.0}
    outputs: dict[tuple[int, ...], float] = {}
    while unfinished:
        tokens, probability = unfinished.popitem()
        logits = model.next_logits(10, (SOS, *tokens))
        (token_probabilities,) = probabilities(logits.unsqueeze(0), None, config).tolist()
        for token, token_probability in enumerate(token_probabilities):
            if token_probability == 0:
                continue
            longer = (*tokens, token)
            is_last = token == EOS or len(longer) == limit
            destination = outputs if is_last else unfinished
            destination[longer] = probability * token_probability
    return outputs


@pytest.mark.parametrize(("temperature", "top_k", "top_p"), [(0.5, 0, 1.0), (2.0, 2, 1.0), (1.5, 3, 0.9)])
def test_hypotheses_are_drawn_in_proportion_to_their_probability(temperature: float, top_k: int, top_p: float) -> None:
    model = KnownModel(2)
    draws = 4000
    config = SearchConfig(temperature=temperature, top_k=top_k, top_p=top_p, seed=5)
    expected = probabilities_of_outputs(model, 3, config)
    hypotheses = drawn_hypotheses(model, sources(10), [3], config, draws)
    counts = Counter(produced_tokens(hypothesis) for hypothesis in hypotheses)
    assert set(counts) <= set(expected)

    # Pearson's χ² over the outputs that are expected five times or more.
    chi_squared = 0.0
    degrees_of_freedom = 0
    for tokens, probability in expected.items():
        expected_count = draws * probability
        if expected_count >= 5:
            chi_squared += (counts[tokens] - expected_count) ** 2 / expected_count
            degrees_of_freedom += 1
    standard_deviation = math.sqrt(2 * degrees_of_freedom)
    assert chi_squared < degrees_of_freedom + 4 * standard_deviation


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


def test_extreme_noise_draws_the_first_or_the_last_allowed_token() -> None:
    distributions = torch.tensor([[0, 0.2, 0.3, 0.5, 0]] * 2, dtype=torch.float64)
    assert draw(distributions, torch.tensor([0.0, 1 - 2.0**-53], dtype=torch.float64)).tolist() == [1, 3]


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
