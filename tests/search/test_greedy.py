"""Greedy search on a model with known probabilities."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from known_model import PRODUCED, VOCABULARY, KnownModel, ScriptedModel, limits, sources

from translator.search import greedy_search
from translator.special_tokens import EOS, PAD, SOS, UNK


def step_by_step(model: KnownModel, name: int, limit: int) -> tuple[tuple[int, ...], bool]:
    """Greedy search as one would say it."""
    tokens: tuple[int, ...] = ()
    while len(tokens) < limit:
        logits = model.logits(name, (SOS, *tokens))
        best = max(PRODUCED, key=lambda token: logits[token].item())
        if best == EOS:
            return tokens, True
        tokens = (*tokens, best)
    return tokens, False


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.lists(st.integers(1, 12), min_size=1, max_size=6))
def test_follows_the_likeliest_token_of_each_row(seed: int, lengths: list[int]) -> None:
    model = KnownModel(seed)
    names = list(range(10, 10 + len(lengths)))
    found = greedy_search(model, sources(*names), limits(*lengths), 0.7)
    for name, limit, hypothesis in zip(names, lengths, found, strict=True):
        tokens, finished = step_by_step(model, name, limit)
        assert (hypothesis.tokens, hypothesis.finished) == (tokens, finished)
        score = model.score(name, tokens, finished)
        assert hypothesis.score == pytest.approx(score, abs=1e-4)
        assert hypothesis.normalized_score == pytest.approx(score / ((5 + len(tokens) + finished) / 6) ** 0.7, abs=1e-4)


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
