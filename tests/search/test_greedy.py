"""Greedy search on a model with known probabilities."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from known_model import VOCABULARY, KnownModel, MayFollow, ScriptedModel, anything, limits, sources

from translator.search import GnmtPenalty, greedy_search
from translator.search.constraints import Constraint
from translator.search.forced_prefix import ForcedPrefix
from translator.search.minimum_length import MinimumLength
from translator.search.no_repeat_ngram import NoRepeatNgram
from translator.special_tokens import EOS, PAD, SOS, UNK


def step_by_step(
    model: KnownModel, name: int, limit: int, may_follow: MayFollow = anything
) -> tuple[tuple[int, ...], bool]:
    """Greedy search as one would say it."""
    tokens: tuple[int, ...] = ()
    while len(tokens) < limit:
        logits = model.known(name, (SOS, *tokens))
        allowed = [token for token in range(VOCABULARY) if may_follow(tokens, token)] or [EOS]
        best = max(allowed, key=lambda token: logits[token].item())
        if best == EOS:
            return tokens, True
        tokens = (*tokens, best)
    return tokens, False


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.lists(st.integers(1, 12), min_size=1, max_size=6))
def test_follows_the_likeliest_token_of_each_row(seed: int, lengths: list[int]) -> None:
    model = KnownModel(seed)
    names = list(range(10, 10 + len(lengths)))
    found = greedy_search(model, sources(*names), limits(*lengths), GnmtPenalty(0.7))
    for name, limit, hypothesis in zip(names, lengths, found, strict=True):
        tokens, finished = step_by_step(model, name, limit)
        assert (hypothesis.tokens, hypothesis.finished) == (tokens, finished)
        score = model.score(name, tokens, finished)
        assert hypothesis.score == pytest.approx(score, abs=1e-5)
        assert hypothesis.token_scores == pytest.approx(model.token_scores(name, tokens, finished), abs=1e-5)
        assert hypothesis.normalized_score == pytest.approx(score / ((5 + len(tokens) + finished) / 6) ** 0.7, abs=1e-5)


def test_rows_that_have_ended_leave_the_batch() -> None:
    # Sentence 10 ends at the second step, the others by their limits.
    class Mixed(KnownModel):
        def logits(self, name: int, prefix: tuple[int, ...]) -> torch.Tensor:
            wanted = EOS if name == 10 and len(prefix) == 2 else 4
            return torch.zeros(VOCABULARY).index_fill(0, torch.tensor(wanted), 9.0)

    model = Mixed(0)
    found = greedy_search(model, sources(11, 10, 12), limits(4, 9, 6))
    assert [(h.tokens, h.finished) for h in found] == [((4,) * 4, False), ((4,), True), ((4,) * 6, False)]
    assert model.state is not None and model.state.sizes == [2, 1]
    assert model.steps == 6


@pytest.mark.parametrize("forbidden", [PAD, UNK, SOS])
def test_pad_unknown_and_sos_are_never_produced(forbidden: int) -> None:
    model = ScriptedModel({(): {forbidden: 0.9, 5: 0.06}, (5,): {EOS: 0.9}})
    found = greedy_search(model, sources(10), limits(5))
    assert found[0].tokens == (5,)


def test_no_rows() -> None:
    assert greedy_search(KnownModel(1), torch.empty(0, 4, dtype=torch.long), limits()) == []


def test_an_end_at_the_last_step_is_an_end() -> None:
    model = ScriptedModel({(): {4: 0.9}, (4,): {EOS: 0.9}})
    (found,) = greedy_search(model, sources(10), limits(2))
    assert (found.tokens, found.finished) == ((4,), True)
    (found,) = greedy_search(model, sources(10), limits(1))
    assert (found.tokens, found.finished) == ((4,), False)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(0, 12), st.integers(1, 3), st.booleans())
def test_constraints_leave_the_likeliest_of_what_they_allow(
    seed: int, limit: int, shortest: int, size: int, forced: bool
) -> None:
    prefix = (UNK, 5, 5)[: limit - 1] if forced else ()
    constraints: list[Constraint] = [
        MinimumLength(torch.tensor([0, shortest])),
        NoRepeatNgram(size),
        ForcedPrefix([[6], prefix], torch.device("cpu")),
    ]

    def may_follow(tokens: tuple[int, ...], token: int) -> bool:
        if len(tokens) < len(prefix):
            return token == prefix[len(tokens)]
        ngrams = {tokens[i : i + size] for i in range(len(tokens) - size + 1)}
        too_early = token == EOS and len(tokens) + 1 < shortest
        return anything(tokens, token) and not too_early and (*tokens, token)[-size:] not in ngrams

    model = KnownModel(seed)
    _, found = greedy_search(model, sources(11, 10), limits(3, limit), constraints=constraints)
    assert (found.tokens, found.finished) == step_by_step(model, 10, limit, may_follow)
    assert found.token_scores == pytest.approx(model.token_scores(10, found.tokens, found.finished), abs=1e-5)


def test_of_equally_likely_tokens_the_lowest_is_taken() -> None:
    model = ScriptedModel({(): {6: 0.3, 4: 0.3, 5: 0.3}, (4,): {EOS: 0.4, 4: 0.4}})
    (found,) = greedy_search(model, sources(10), limits(9))
    assert (found.tokens, found.finished) == ((4,), True)
