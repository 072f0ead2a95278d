"""Beam search on a model with known probabilities."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from known_model import PRODUCED, VOCABULARY, KnownModel, MayFollow, ScriptedModel, anything, limits, sources

from translator.search import AveragePenalty, GnmtPenalty, Hypothesis, LengthPenalty, beam_search, greedy_search
from translator.search.constraints import Constraint
from translator.search.forced_prefix import ForcedPrefix
from translator.search.minimum_length import MinimumLength
from translator.search.no_repeat_ngram import NoRepeatNgram
from translator.special_tokens import EOS, UNK

PENALTIES = st.builds(
    lambda kind, alpha: kind(alpha),
    st.sampled_from([GnmtPenalty, AveragePenalty]),
    st.sampled_from([0.0, 0.6, 1.0, 2.5]),
)
EVERYTHING = 4 * 3**3
"""A width that no beam of four steps can fill: three tokens to go on with, and EOS."""


def same(found: list[Hypothesis], expected: list[Hypothesis]) -> None:
    """Hold a search against brute force: all but the last bits is equal."""
    assert [(h.tokens, h.finished) for h in found] == [(h.tokens, h.finished) for h in expected]
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.token_scores == pytest.approx(theirs.token_scores, abs=1e-5)
        assert ours.score == pytest.approx(theirs.score, abs=1e-5)
        assert ours.normalized_score == pytest.approx(theirs.normalized_score, abs=1e-5)


@settings(deadline=None, max_examples=25)
@given(
    st.integers(0, 10**6), st.lists(st.integers(1, 4), min_size=1, max_size=3), PENALTIES, st.integers(1, EVERYTHING)
)
def test_a_wide_beam_finds_what_enumeration_finds(
    seed: int, lengths: list[int], penalty: LengthPenalty, count: int
) -> None:
    model = KnownModel(seed)
    names = list(range(10, 10 + len(lengths)))
    found = beam_search(model, sources(*names), limits(*lengths), EVERYTHING, penalty, count)
    for name, limit, hypotheses in zip(names, lengths, found, strict=True):
        same(hypotheses, model.all_hypotheses(name, limit, penalty)[:count])


def shortest_of(length: int) -> tuple[Constraint, MayFollow]:
    """A minimum length, and its definition."""
    return MinimumLength(torch.tensor([9, length])), lambda tokens, token: token != EOS or len(tokens) + 1 >= length


def no_repeat_of(size: int) -> tuple[Constraint, MayFollow]:
    """No n-gram twice, and its definition."""

    def may_follow(tokens: tuple[int, ...], token: int) -> bool:
        return (*tokens, token)[-size:] not in {tokens[i : i + size] for i in range(len(tokens) - size + 1)}

    return NoRepeatNgram(size), may_follow


def prefix_of(prefix: list[int]) -> tuple[Constraint, MayFollow]:
    """A forced prefix, and its definition."""
    constraint = ForcedPrefix([[6, 6], prefix], torch.device("cpu"))
    return constraint, lambda tokens, token: len(tokens) >= len(prefix) or token == prefix[len(tokens)]


CONSTRAINED = st.one_of(
    st.builds(shortest_of, st.integers(0, 5)),
    st.builds(no_repeat_of, st.integers(1, 3)),
    st.builds(prefix_of, st.lists(st.sampled_from([UNK, 4, 5, 6]), max_size=3)),
)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.lists(CONSTRAINED, max_size=2), PENALTIES, st.integers(1, 30))
def test_a_wide_beam_under_constraints_finds_what_filtered_enumeration_finds(
    seed: int, constrained: list[tuple[Constraint, MayFollow]], penalty: LengthPenalty, count: int
) -> None:
    # A forced prefix has the last word, and two of them at once make no sense.
    constrained = sorted(constrained, key=lambda pair: isinstance(pair[0], ForcedPrefix))[:2]
    if all(isinstance(constraint, ForcedPrefix) for constraint, _ in constrained):
        constrained = constrained[:1]

    def may_follow(tokens: tuple[int, ...], token: int) -> bool:
        for constraint, definition in reversed(constrained):
            if isinstance(constraint, ForcedPrefix) and not definition(tokens, 0):  # still within the prefix
                return definition(tokens, token)
        return anything(tokens, token) and all(definition(tokens, token) for _, definition in constrained)

    model = KnownModel(seed)
    constraints = [constraint for constraint, _ in constrained]
    _, found = beam_search(model, sources(11, 10), limits(3, 4), EVERYTHING, penalty, count, constraints)
    same(found, model.all_hypotheses(10, 4, penalty, may_follow)[:count])


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.lists(st.integers(1, 9), min_size=1, max_size=5), PENALTIES)
def test_a_beam_of_one_is_greedy(seed: int, lengths: list[int], penalty: LengthPenalty) -> None:
    names = list(range(10, 10 + len(lengths)))
    greedy = greedy_search(KnownModel(seed), sources(*names), limits(*lengths), penalty)
    beam = beam_search(KnownModel(seed), sources(*names), limits(*lengths), 1, penalty)
    same([hypotheses[0] for hypotheses in beam], greedy)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 6), PENALTIES, st.data())
def test_hypotheses_are_distinct_sorted_and_scored_as_the_model_scores_them(
    seed: int, width: int, penalty: LengthPenalty, data: st.DataObject
) -> None:
    model, count = KnownModel(seed), data.draw(st.integers(1, width))
    found = beam_search(model, sources(10, 11), limits(8, 5), width, penalty, count)
    for name, hypotheses in zip((10, 11), found, strict=True):
        assert len(hypotheses) == count
        assert len({(hypothesis.tokens, hypothesis.finished) for hypothesis in hypotheses}) == count
        ranking = [(hypothesis.finished, hypothesis.normalized_score) for hypothesis in hypotheses]
        assert ranking == sorted(ranking, reverse=True)
        for hypothesis in hypotheses:
            assert set(hypothesis.tokens) <= set(PRODUCED) - {EOS}
            expected = model.token_scores(name, hypothesis.tokens, hypothesis.finished)
            assert hypothesis.token_scores == pytest.approx(expected, abs=1e-5)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 6), PENALTIES)
def test_asking_for_more_changes_none_of_the_better_ones(seed: int, width: int, penalty: LengthPenalty) -> None:
    (all_of_them,) = beam_search(KnownModel(seed), sources(10), limits(9), width, penalty, width)
    for count in range(1, width):
        (found,) = beam_search(KnownModel(seed), sources(10), limits(9), width, penalty, count)
        if all(hypothesis.finished for hypothesis in found):
            assert found == all_of_them[:count]


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 5), PENALTIES, st.permutations(range(4)))
def test_batch_mates_and_their_order_change_nothing(
    seed: int, width: int, penalty: LengthPenalty, order: list[int]
) -> None:
    names, lengths = [10, 11, 12, 13], [8, 3, 6, 1]
    together = beam_search(
        KnownModel(seed), sources(*(names[i] for i in order)), limits(*(lengths[i] for i in order)), width, penalty
    )
    for place, i in enumerate(order):
        alone = beam_search(KnownModel(seed), sources(names[i]), limits(lengths[i]), width, penalty)
        assert alone[0] == together[place]


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 4), PENALTIES, st.data())
def test_stopping_early_loses_nothing(seed: int, width: int, penalty: LengthPenalty, data: st.DataObject) -> None:
    """The same beam, carried on to the longest length, finds no better hypotheses."""
    model, count = KnownModel(seed), data.draw(st.integers(1, width))
    (found,) = beam_search(model, sources(10), limits(7), width, penalty, count)
    live: list[tuple[int, ...]] = [()]
    finished: list[float] = []
    for length in range(1, 8):
        grown = {(*tokens, token): model.score(10, (*tokens, token), False) for tokens in live for token in PRODUCED}
        kept = sorted(grown, key=lambda tokens: -grown[tokens])[:width]
        finished += [penalty.normalized(grown[tokens], float(length)) for tokens in kept if tokens[-1] == EOS]
        live = [tokens for tokens in kept if tokens[-1] != EOS]
    ours = [hypothesis.normalized_score for hypothesis in found if hypothesis.finished]
    assert ours == pytest.approx(sorted(finished, reverse=True)[:count], abs=1e-5)


def test_a_wider_beam_finds_what_greedy_misses() -> None:
    model = ScriptedModel({(): {4: 0.5, 5: 0.4}, (4,): {4: 0.3, 5: 0.3, 6: 0.3}, (5,): {EOS: 0.99}})
    assert greedy_search(model, sources(10), limits(3))[0].tokens[0] == 4
    (hypotheses,) = beam_search(model, sources(10), limits(3), 2, GnmtPenalty(0.0))
    assert hypotheses[0].tokens == (5,)


def test_a_longer_hypothesis_wins_through_the_length_penalty_and_the_beam_waits_for_it() -> None:
    # EOS at once: log 0.5 = -0.69. Six more tokens, each almost certain: log 0.45 = -0.80, over 12 / 6 with alpha 1.
    certain = {(4,) * count: {4: 0.9999} for count in range(1, 6)}
    rules = {(): {EOS: 0.5, 4: 0.45}, **certain, (4,) * 6: {EOS: 0.9999}}
    (plain,) = beam_search(ScriptedModel(rules), sources(10), limits(9), 2, GnmtPenalty(0.0))
    (penalized,) = beam_search(ScriptedModel(rules), sources(10), limits(9), 2, GnmtPenalty(1.0))
    assert plain[0].tokens == ()
    assert penalized[0].tokens == (4,) * 6


def test_a_beam_stops_as_soon_as_it_is_decided() -> None:
    model = ScriptedModel({(): {EOS: 0.97, 4: 0.02}})
    beam_search(model, sources(10), limits(40), 3, GnmtPenalty(0.0))
    assert model.steps == 1


def test_decided_sentences_leave_the_batch() -> None:
    class Mixed(KnownModel):
        def logits(self, name: int, prefix: tuple[int, ...]) -> torch.Tensor:
            wanted = EOS if name == 10 and len(prefix) == 2 else 4
            return torch.zeros(VOCABULARY).index_fill(0, torch.tensor(wanted), 30.0)

    model = Mixed(0)
    found = beam_search(model, sources(11, 10, 12), limits(4, 9, 6), 2)
    assert [(h[0].tokens, h[0].finished) for h in found[1:2]] == [((4,), True)]
    assert model.state is not None and model.state.sizes == [6, 4, 4, 2, 2]


def test_without_an_end_the_best_unfinished_hypotheses_come_back() -> None:
    class Endless(KnownModel):
        def logits(self, name: int, prefix: tuple[int, ...]) -> torch.Tensor:
            return super().logits(name, prefix).index_fill(0, torch.tensor(EOS), -1e9)

    (hypotheses,) = beam_search(Endless(3), sources(10), limits(5), 3, count=3)
    assert [(len(h.tokens), h.finished) for h in hypotheses] == [(5, False)] * 3


def test_no_rows() -> None:
    assert beam_search(KnownModel(1), torch.empty(0, 4, dtype=torch.long), limits(), 3) == []


def test_a_beam_goes_on_until_the_last_of_several_is_decided() -> None:
    # EOS at once has 0.6; (4,) has 0.36 after two steps and (4, 4) 0.02 at most: the second best is known at step 2.
    model = ScriptedModel({(): {EOS: 0.6, 4: 0.38}, (4,): {EOS: 0.95, 4: 0.04}})
    for count, steps in ((1, 1), (2, 2)):
        model.steps = 0
        (found,) = beam_search(model, sources(10), limits(40), 3, GnmtPenalty(0.0), count)
        assert [hypothesis.tokens for hypothesis in found] == [(), (4,)][:count]
        assert model.steps == steps


def test_stopped_hypotheses_stand_behind_finished_ones() -> None:
    model = ScriptedModel({(): {EOS: 0.01, 4: 0.9}, (4,): {4: 0.95}})
    (found,) = beam_search(model, sources(10), limits(2), 4, count=4)
    assert [hypothesis.finished for hypothesis in found] == sorted((h.finished for h in found), reverse=True)
    assert not found[-1].finished
    best_stopped = next(hypothesis for hypothesis in found if not hypothesis.finished)
    assert best_stopped.tokens == (4, 4)


def test_of_equally_good_hypotheses_the_lowest_ids_come_first() -> None:
    model = ScriptedModel({(): {5: 0.3, 6: 0.3, 4: 0.3}, **{(token,): {EOS: 0.9} for token in (4, 5, 6)}})
    for width in (2, 3):
        (found,) = beam_search(model, sources(10), limits(9), width, count=width)
        assert [hypothesis.tokens for hypothesis in found] == [(4,), (5,), (6,)][:width]
