"""Sampling from a model with known probabilities."""

import math
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from known_model import PRODUCED, VOCABULARY, KnownModel, ScriptedModel, limits, sources

from translator.search import Distribution, GnmtPenalty, greedy_search, sample, sampling
from translator.search.constraints import Constraint
from translator.search.minimum_length import MinimumLength
from translator.search.no_repeat_ngram import NoRepeatNgram
from translator.special_tokens import EOS, SOS

DISTRIBUTIONS = [
    Distribution(),
    Distribution(temperature=0.5),
    Distribution(temperature=2.0, top_k=2),
    Distribution(top_p=0.7),
    Distribution(temperature=1.5, top_k=3, top_p=0.9),
]


def step_probabilities(model: KnownModel, tokens: tuple[int, ...], distribution: Distribution) -> dict[int, float]:
    """The chances of each next token, as one would say it."""
    logits = model.known(10, (SOS, *tokens))
    weights = {token: math.exp(logits[token].item() / distribution.temperature) for token in PRODUCED}
    ranking = sorted(weights, key=lambda token: -weights[token])[: distribution.top_k or None]
    total = sum(weights[token] for token in ranking)
    kept, reached = [], 0.0
    for token in ranking:
        if reached < distribution.top_p:
            kept.append(token)
        reached += weights[token] / total
    total = sum(weights[token] for token in kept)
    return {token: weights[token] / total for token in kept}


def outcomes(model: KnownModel, limit: int, distribution: Distribution) -> dict[tuple[int, ...], float]:
    """The chances of each sequence, with EOS."""
    open_ones: dict[tuple[int, ...], float] = {(): 1.0}
    closed: dict[tuple[int, ...], float] = {}
    for length in range(1, limit + 1):
        grown = {
            (*tokens, token): chance * share
            for tokens, chance in open_ones.items()
            for token, share in step_probabilities(model, tokens, distribution).items()
        }
        done = {tokens for tokens in grown if tokens[-1] == EOS or length == limit}
        closed |= {tokens: grown[tokens] for tokens in done}
        open_ones = {tokens: chance for tokens, chance in grown.items() if tokens not in done}
    return closed


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=str)
def test_what_is_drawn_is_as_frequent_as_it_is_likely(distribution: Distribution) -> None:
    model, draws = KnownModel(2), 4000
    expected = outcomes(model, 3, distribution)
    assert sum(expected.values()) == pytest.approx(1)
    (found,) = sample(model, sources(10), limits(3), distribution, seed=5, count=draws)
    counts = Counter((*h.tokens, EOS) if h.finished else h.tokens for h in found)
    assert set(counts) <= set(expected)
    common = {tokens for tokens, chance in expected.items() if chance * draws >= 5}
    rare = draws - sum(counts[tokens] for tokens in common)
    rare_expected = draws * sum(chance for tokens, chance in expected.items() if tokens not in common)
    square = sum((counts[tokens] - draws * expected[tokens]) ** 2 / (draws * expected[tokens]) for tokens in common)
    square += (rare - rare_expected) ** 2 / max(rare_expected, 1)
    assert square < len(common) + 4 * math.sqrt(2 * len(common))  # four standard deviations beyond the mean


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.integers(0, 100), st.integers(1, 4), st.permutations(range(4)))
def test_batch_mates_their_order_and_further_draws_change_nothing(
    seed: int, noise: int, count: int, order: list[int]
) -> None:
    names, lengths = [10, 11, 12, 13], [8, 3, 6, 1]
    distribution = Distribution(temperature=1.3)
    together = sample(
        KnownModel(seed),
        sources(*(names[i] for i in order)),
        limits(*(lengths[i] for i in order)),
        distribution,
        noise,
        count,
    )
    for place, i in enumerate(order):
        (alone,) = sample(KnownModel(seed), sources(names[i]), limits(lengths[i]), distribution, noise, count)
        assert alone == together[place]
        (more,) = sample(KnownModel(seed), sources(names[i]), limits(lengths[i]), distribution, noise, count + 2)
        assert not Counter(h.tokens for h in alone) - Counter(h.tokens for h in more)


def test_another_seed_draws_something_else() -> None:
    model = KnownModel(3, sharpness=0.1)
    draws = {sample(model, sources(10), limits(9), Distribution(), seed)[0][0].tokens for seed in range(10)}
    assert len(draws) > 5


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from(DISTRIBUTIONS))
def test_scores_are_those_of_the_model_itself(seed: int, distribution: Distribution) -> None:
    model = KnownModel(seed)
    found = sample(model, sources(10, 11), limits(6, 9), distribution, 1, 5, GnmtPenalty(0.6))
    for name, limit, hypotheses in zip((10, 11), (6, 9), found, strict=True):
        assert len(hypotheses) == 5
        ranking = [hypothesis.normalized_score for hypothesis in hypotheses]
        assert ranking == sorted(ranking, reverse=True)
        for hypothesis in hypotheses:
            assert hypothesis.finished or len(hypothesis.tokens) == limit
            expected = model.token_scores(name, hypothesis.tokens, hypothesis.finished)
            assert hypothesis.token_scores == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    "distribution", [Distribution(top_k=1), Distribution(top_p=1e-6), Distribution(0.001), Distribution(1e-38)], ids=str
)
def test_at_its_narrowest_it_is_greedy(distribution: Distribution) -> None:
    source, lengths = sources(10, 11, 12), limits(9, 7, 5)
    (*drawn,) = sample(KnownModel(6), source, lengths, distribution, 1, 2)
    for found, greedy in zip(drawn, greedy_search(KnownModel(6), source, lengths), strict=True):
        assert [h.tokens for h in found] == [greedy.tokens] * 2


@pytest.mark.parametrize(("number", "token"), [(0.0, EOS), (1 - 2.0**-53, 6)])
def test_the_outermost_numbers_draw_the_outermost_tokens_that_may_come(
    number: float, token: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        sampling,
        "uniform_noise",
        lambda source, seed, draws, steps: torch.full((len(source), draws, steps), number, dtype=torch.float64),
    )
    ((found,),) = sample(KnownModel(1), sources(10), limits(1), Distribution(), 1)
    assert (*found.tokens, *[EOS] * found.finished) == (token,)


def test_constraints_hold() -> None:
    constraints: list[Constraint] = [MinimumLength(torch.tensor([3])), NoRepeatNgram(1)]
    (found,) = sample(KnownModel(1), sources(10), limits(9), Distribution(), 1, 50, constraints=constraints)
    for hypothesis in found:
        assert hypothesis.finished and 2 <= len(set(hypothesis.tokens)) == len(hypothesis.tokens)


def test_a_sentence_leaves_when_its_last_draw_has_ended() -> None:
    class Mixed(KnownModel):
        def logits(self, name: int, prefix: tuple[int, ...]) -> torch.Tensor:
            wanted = EOS if name == 10 and len(prefix) == 2 else 4
            return torch.zeros(VOCABULARY).index_fill(0, torch.tensor(wanted), 30.0)

    model = Mixed(0)
    found = sample(model, sources(11, 10, 12), limits(4, 9, 6), Distribution(), 1, 2)
    assert [[len(h.tokens) for h in hypotheses] for hypotheses in found] == [[4, 4], [1, 1], [6, 6]]
    assert model.state is not None and model.state.sizes == [4, 2]


def test_draws_of_one_sentence_end_on_their_own_and_nothing_is_asked_after_the_last() -> None:
    model = ScriptedModel({}, max_positions=90)
    (found,) = sample(model, sources(10), limits(80), Distribution(), 1, 30)
    lengths = {len(hypothesis.tokens) for hypothesis in found}
    assert len(lengths) > 3
    assert all(hypothesis.finished and EOS not in hypothesis.tokens for hypothesis in found)
    assert model.steps == max(lengths) + 1


def test_no_rows() -> None:
    assert sample(KnownModel(1), torch.empty(0, 4, dtype=torch.long), limits(), Distribution(), 1) == []
