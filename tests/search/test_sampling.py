"""Sampling from a model with known probabilities, its truncation, and its noise."""

import math
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from known_model import KnownModel, sources
from torch import Tensor
from translator.search.algorithms import follow_paths, likeliest
from translator.search.sampling import probabilities, sampler, uniform_noise

from translator.config import SearchConfig
from translator.search import sampling
from translator.search.hypothesis import Hypothesis
from translator.special_tokens import EOS, PAD, SOS


def draw(model: KnownModel, source: Tensor, lengths: list[int], config: SearchConfig, count: int) -> list[Hypothesis]:
    choose = sampler(source, config, count, max(lengths))
    found = follow_paths(model, source, torch.tensor(lengths), choose, config, count)
    return [hypothesis for of_sentence in found for hypothesis in of_sentence]


def outcomes(model: KnownModel, limit: int, config: SearchConfig) -> dict[tuple[int, ...], float]:
    open_ones: dict[tuple[int, ...], float] = {(): 1.0}
    closed: dict[tuple[int, ...], float] = {}
    while open_ones:
        tokens, chance = open_ones.popitem()
        for token, share in enumerate(probabilities(model.known(10, (SOS, *tokens))[None], None, config)[0].tolist()):
            ended = token == EOS or len(tokens) + 1 == limit
            (closed if ended else open_ones)[*tokens, token] = chance * share
    return {tokens: chance for tokens, chance in closed.items() if chance > 0}


@pytest.mark.parametrize(("temperature", "top_k", "top_p"), [(0.5, 0, 1.0), (2.0, 2, 1.0), (1.5, 3, 0.9)])
def test_hypotheses_are_drawn_in_proportion_to_their_probability(temperature: float, top_k: int, top_p: float) -> None:
    model, draws = KnownModel(2), 4000
    config = SearchConfig(temperature=temperature, top_k=top_k, top_p=top_p, seed=5)
    expected = outcomes(model, 3, config)
    found = draw(model, sources(10), [3], config, draws)
    counts = Counter((*one.tokens, EOS) if one.finished else one.tokens for one in found)
    assert set(counts) <= set(expected)
    common = {tokens for tokens, chance in expected.items() if chance * draws >= 5}
    square = sum((counts[tokens] - draws * expected[tokens]) ** 2 / (draws * expected[tokens]) for tokens in common)
    assert square < len(common) + 4 * math.sqrt(2 * len(common))  # four standard deviations beyond the mean


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.integers(0, 100), st.integers(1, 4), st.permutations(range(4)))
def test_samples_do_not_depend_on_batch_order_or_number_of_draws(
    seed: int, noise: int, count: int, order: list[int]
) -> None:
    model, names, lengths = KnownModel(seed), [10, 11, 12, 13], [8, 3, 6, 1]
    config = SearchConfig(temperature=1.3, seed=noise)
    together = draw(model, sources(*(names[i] for i in order)), [lengths[i] for i in order], config, count)
    for place, i in enumerate(order):
        alone, more = (draw(model, sources(names[i]), [lengths[i]], config, draws) for draws in (count, count + 2))
        assert alone == together[place * count :][:count]
        assert not Counter(one.tokens for one in alone) - Counter(one.tokens for one in more)


@pytest.mark.parametrize("narrow", [{"top_k": 1}, {"top_p": 1e-6}, {"temperature": 0.001}])
def test_sampling_at_its_narrowest_settings_equals_greedy_search(narrow: dict[str, float]) -> None:
    model, source, lengths, config = KnownModel(6), sources(10, 11), [9, 7], SearchConfig.model_validate(narrow)
    greedy = follow_paths(model, source, torch.tensor(lengths), likeliest, config)
    drawn = draw(model, source, lengths, config, 2)
    assert [one.tokens for one in drawn] == [one.tokens for (one,) in greedy for _ in range(2)]


@pytest.mark.parametrize(("number", "token"), [(0.0, EOS), (1 - 2.0**-53, 6)])
def test_extreme_noise_draws_the_first_and_the_last_allowed_token(
    number: float, token: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = torch.full((1, 1, 1), number, dtype=torch.float64)
    monkeypatch.setattr(sampling, "uniform_noise", lambda *_: noise)
    (found,) = draw(KnownModel(1), sources(10), [1], SearchConfig(), 1)
    assert (*found.tokens, *[EOS] * found.finished) == (token,)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 10**6), st.integers(1, 9), st.integers(0, 15), st.floats(0.01, 1.0), st.sampled_from([0.5, 1.0, 3.0])
)
def test_truncation_keeps_likeliest_tokens_and_breaks_ties_by_lowest_id(
    seed: int, levels: int, k: int, p: float, temperature: float
) -> None:
    logits = torch.randint(levels, (3, 12), generator=torch.Generator().manual_seed(seed)).float() * 0.7
    nothing = torch.zeros(3, 12, dtype=torch.bool)
    found = probabilities(logits, nothing, SearchConfig(top_k=k, top_p=p, temperature=temperature))
    for row, kept in zip(logits.double() / temperature, found, strict=True):
        ranked = sorted(range(12), key=lambda token: (-row[token].item(), token))[: k or None]
        shares = row[ranked].softmax(0)
        before = shares.cumsum(0) - shares
        if p < 1 and (before - p).abs().min() < 1e-9:
            continue  # a rounding error decides
        nucleus = [token for token, reached in zip(ranked, before.tolist(), strict=True) if p == 1 or reached < p]
        expected = torch.zeros(12, dtype=torch.float64)
        expected[nucleus] = row[nucleus].softmax(0)
        torch.testing.assert_close(kept, expected, rtol=1e-6, atol=1e-7)


def test_the_noise_is_the_same_on_every_machine() -> None:
    source = torch.tensor([[5, 6, EOS, PAD], [5, 6, 7, EOS], [8, EOS, PAD, PAD]])
    expected = [0.73670530949455, 0.750245483569005, 0.28648754904944485]
    assert uniform_noise(source, 1, 1, 2)[:, 0, 1].tolist() == expected
