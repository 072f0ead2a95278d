"""Beam search on a model with known probabilities."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from known_model import PRODUCED, VOCABULARY, KnownModel, ScriptedModel, limits, sources

from translator.search import beam_search, greedy_search
from translator.special_tokens import EOS

ALPHAS = st.sampled_from([0.0, 0.6, 1.0, 2.5])
EVERYTHING = 4 * 3**3
"""A width that no beam of four steps can fill: three tokens to go on with, and EOS."""


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.lists(st.integers(1, 4), min_size=1, max_size=3), ALPHAS)
def test_a_wide_beam_finds_what_enumeration_finds(seed: int, lengths: list[int], alpha: float) -> None:
    model = KnownModel(seed)
    names = list(range(10, 10 + len(lengths)))
    found = beam_search(model, sources(*names), limits(*lengths), EVERYTHING, alpha)
    for name, limit, hypotheses in zip(names, lengths, found, strict=True):
        best = model.all_finished(name, limit, alpha)[0]
        assert (hypotheses[0].tokens, hypotheses[0].finished) == (best.tokens, True)
        assert hypotheses[0].score == pytest.approx(best.score, abs=1e-4)
        assert hypotheses[0].normalized_score == pytest.approx(best.normalized_score, abs=1e-4)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.lists(st.integers(1, 9), min_size=1, max_size=5), ALPHAS)
def test_a_beam_of_one_is_greedy(seed: int, lengths: list[int], alpha: float) -> None:
    names = list(range(10, 10 + len(lengths)))
    greedy = greedy_search(KnownModel(seed), sources(*names), limits(*lengths), alpha)
    beam = beam_search(KnownModel(seed), sources(*names), limits(*lengths), 1, alpha)
    assert [hypotheses[0].tokens for hypotheses in beam] == [hypothesis.tokens for hypothesis in greedy]
    assert [hypotheses[0].finished for hypotheses in beam] == [hypothesis.finished for hypothesis in greedy]
    for hypotheses, hypothesis in zip(beam, greedy, strict=True):
        assert hypotheses[0].normalized_score == pytest.approx(hypothesis.normalized_score, abs=1e-4)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 6), ALPHAS)
def test_hypotheses_are_distinct_sorted_and_scored_as_the_model_scores_them(
    seed: int, width: int, alpha: float
) -> None:
    model = KnownModel(seed)
    for name, hypotheses in zip((10, 11), beam_search(model, sources(10, 11), limits(8, 5), width, alpha), strict=True):
        assert 1 <= len(hypotheses) <= width
        assert len({hypothesis.tokens for hypothesis in hypotheses}) == len(hypotheses)
        ranking = [hypothesis.normalized_score for hypothesis in hypotheses]
        assert ranking == sorted(ranking, reverse=True)
        for hypothesis in hypotheses:
            assert set(hypothesis.tokens) <= set(PRODUCED) - {EOS}
            expected = model.score(name, hypothesis.tokens, hypothesis.finished)
            assert hypothesis.score == pytest.approx(expected, abs=1e-4)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 5), ALPHAS, st.permutations(range(4)))
def test_batch_mates_and_their_order_change_nothing(seed: int, width: int, alpha: float, order: list[int]) -> None:
    names, lengths = [10, 11, 12, 13], [8, 3, 6, 1]
    together = beam_search(
        KnownModel(seed), sources(*(names[i] for i in order)), limits(*(lengths[i] for i in order)), width, alpha
    )
    for place, i in enumerate(order):
        alone = beam_search(KnownModel(seed), sources(names[i]), limits(lengths[i]), width, alpha)
        assert alone[0] == together[place]


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 4), ALPHAS)
def test_stopping_early_loses_nothing(seed: int, width: int, alpha: float) -> None:
    """The same beam, carried on to the longest length, finds no better hypothesis."""
    model = KnownModel(seed)
    (found,) = beam_search(model, sources(10), limits(7), width, alpha)
    live, finished = [((), 0.0)], []
    for _ in range(7):
        grown = [
            ((*tokens, token), model.score(10, (*tokens, token), False)) for tokens, _ in live for token in PRODUCED
        ]
        grown = sorted(grown, key=lambda item: -item[1])[:width]
        finished += [score / ((5 + len(tokens)) / 6) ** alpha for tokens, score in grown if tokens[-1] == EOS]
        live = [item for item in grown if item[0][-1] != EOS]  # type: ignore[misc]
    if finished:
        assert found[0].finished
        assert found[0].normalized_score == pytest.approx(max(finished), abs=1e-4)
    else:
        assert not found[0].finished


def test_a_wider_beam_finds_what_greedy_misses() -> None:
    model = ScriptedModel({(): {4: 0.5, 5: 0.4}, (4,): {4: 0.3, 5: 0.3, 6: 0.3}, (5,): {EOS: 0.99}})
    assert greedy_search(model, sources(10), limits(3), 0.0)[0].tokens[0] == 4
    (hypotheses,) = beam_search(model, sources(10), limits(3), 2, 0.0)
    assert hypotheses[0].tokens == (5,)


def test_a_longer_hypothesis_wins_through_the_length_penalty_and_the_beam_waits_for_it() -> None:
    # EOS at once: log 0.5 = -0.69. Six more tokens, each almost certain: log 0.45 = -0.80, over 12 / 6 with alpha 1.
    certain = {(4,) * count: {4: 0.9999} for count in range(1, 6)}
    rules = {(): {EOS: 0.5, 4: 0.45}, **certain, (4,) * 6: {EOS: 0.9999}}
    (plain,) = beam_search(ScriptedModel(rules), sources(10), limits(9), 2, 0.0)
    (penalized,) = beam_search(ScriptedModel(rules), sources(10), limits(9), 2, 1.0)
    assert plain[0].tokens == ()
    assert penalized[0].tokens == (4,) * 6


def test_a_beam_stops_as_soon_as_it_is_decided() -> None:
    model = ScriptedModel({(): {EOS: 0.97, 4: 0.02}})
    beam_search(model, sources(10), limits(40), 3, 0.0)
    assert model.steps == 1


def test_decided_sentences_leave_the_batch() -> None:
    class Mixed(KnownModel):
        def logits(self, name: int, prefix: tuple[int, ...]) -> torch.Tensor:
            wanted = EOS if name == 10 and len(prefix) == 2 else 4
            return torch.zeros(VOCABULARY).index_fill(0, torch.tensor(wanted), 30.0)

    model = Mixed(0)
    found = beam_search(model, sources(11, 10, 12), limits(4, 9, 6), 2, 1.0)
    assert [(h[0].tokens, h[0].finished) for h in found[1:2]] == [((4,), True)]
    assert model.state is not None and model.state.sizes == [6, 4, 4, 2, 2]


def test_without_an_end_the_best_unfinished_hypotheses_come_back() -> None:
    class Endless(KnownModel):
        def logits(self, name: int, prefix: tuple[int, ...]) -> torch.Tensor:
            return super().logits(name, prefix).index_fill(0, torch.tensor(EOS), -1e9)

    (hypotheses,) = beam_search(Endless(3), sources(10), limits(5), 3, 1.0)
    assert [(len(h.tokens), h.finished) for h in hypotheses] == [(5, False)] * 3


def test_no_rows() -> None:
    assert beam_search(KnownModel(1), torch.empty(0, 4, dtype=torch.long), limits(), 3) == []
