"""Several models that translate as one."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from known_model import VOCABULARY, KnownModel, limits, sources

from translator.search import Ensemble, GnmtPenalty, beam_search, greedy_search, score_targets
from translator.search.ensemble import log_mean_probabilities


class MeanModel(KnownModel):
    """The mean of the probabilities of other models, by definition."""

    def __init__(self, models: list[KnownModel]) -> None:
        super().__init__(0)
        self.models = models

    def logits(self, name: int, prefix: tuple[int, ...]) -> torch.Tensor:
        probabilities = [model.known(name, prefix).double().softmax(0) for model in self.models]
        return torch.stack(probabilities).mean(0).log().float()


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 3), st.sampled_from([0.0, 1.0]))
def test_it_finds_the_best_of_the_mean_probabilities(seed: int, size: int, alpha: float) -> None:
    models = [KnownModel(seed + i) for i in range(size)]
    (found,) = beam_search(Ensemble(models), sources(10), limits(4), 4 * 3**3, GnmtPenalty(alpha), 5)
    expected = MeanModel(models).all_hypotheses(10, 4, GnmtPenalty(alpha))[:5]
    assert [h.tokens for h in found] == [h.tokens for h in expected]
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.token_scores == pytest.approx(theirs.token_scores, abs=1e-5)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 3))
def test_a_model_with_itself_is_the_model(seed: int, size: int) -> None:
    model = KnownModel(seed)
    source, lengths = sources(10, 11, 12), limits(9, 7, 5)
    together = greedy_search(Ensemble([model] * size), source, lengths)
    for ours, theirs in zip(together, greedy_search(model, source, lengths), strict=True):
        assert (ours.tokens, ours.finished) == (theirs.tokens, theirs.finished)
        assert ours.token_scores == pytest.approx(theirs.token_scores, abs=1e-5)


def test_it_scores_what_it_finds_as_it_found_it() -> None:
    ensemble = Ensemble([KnownModel(1), KnownModel(2)])
    found = greedy_search(ensemble, sources(10, 11), limits(9, 7))
    scored = score_targets(ensemble, sources(10, 11), [h.tokens for h in found], finished=[h.finished for h in found])
    for ours, theirs in zip(found, scored, strict=True):
        assert ours.token_scores == pytest.approx(theirs.token_scores, abs=1e-5)


def test_probabilities_too_small_for_a_float_count() -> None:
    logits = [torch.tensor([[0.0, -500.0]]), torch.tensor([[0.0, -400.0]])]
    assert log_mean_probabilities(logits)[0, 1].item() == pytest.approx(-400.6931, abs=1e-3)


def test_half_precision_is_averaged_in_float32() -> None:
    logits = [torch.randn(2, VOCABULARY).bfloat16() for _ in range(2)]
    mean = log_mean_probabilities(logits)
    assert mean.dtype == torch.float32
    torch.testing.assert_close(mean.exp(), torch.stack([tensor.float().softmax(-1) for tensor in logits]).mean(0))


def test_it_takes_as_many_steps_as_the_shortest_of_its_models() -> None:
    orders = itertools.permutations([KnownModel(1, max_positions=20), KnownModel(2, max_positions=30)])
    assert [Ensemble(models).max_positions for models in orders] == [20, 20]
