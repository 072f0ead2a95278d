"""Ensembles average probabilities."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.known_model import KnownModel, assert_same_hypotheses, sources
from translator.core.hypothesis import SearchSettings
from translator.core.search import beam_search
from translator.inference.engines.torch_searcher import TorchSearcher
from translator.search.ensemble import Ensemble, log_mean_probabilities


class MeanModel(KnownModel):
    """The mean of the probabilities of several models, by definition."""

    def __init__(self, models: list[KnownModel]) -> None:
        super().__init__(0)
        self.models = models

    def logits(self, name: int, prefix: tuple[int, ...]) -> torch.Tensor:
        probabilities = [model.next_logits(name, prefix).double().softmax(0) for model in self.models]
        return torch.stack(probabilities).mean(0).log().float()


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 3), st.sampled_from([0.0, 1.0]))
def test_an_ensemble_searches_by_the_mean_probabilities_of_its_models(seed: int, size: int, alpha: float) -> None:
    models = [KnownModel(seed + number) for number in range(size)]
    search = SearchSettings(beam_size=4 * 3**3, length_penalty=alpha)
    longest = torch.tensor([4])
    (hypotheses,) = beam_search(Ensemble(models), sources(10), longest, search, 5)
    (expected,) = beam_search(MeanModel(models), sources(10), longest, search, 5)
    assert_same_hypotheses(hypotheses, expected)


def test_an_ensemble_has_the_positions_of_its_smallest_model() -> None:
    models: list[Any] = [KnownModel(1), KnownModel(2)]
    models[1].max_positions = 7
    assert TorchSearcher(models, torch.device("cpu")).max_positions == 7


def test_mean_log_probabilities_do_not_underflow() -> None:
    logits = [torch.tensor([[0.0, -500.0]]), torch.tensor([[0.0, -400.0]])]
    assert log_mean_probabilities(logits)[0, 1].item() == pytest.approx(-400.6931, abs=1e-3)
