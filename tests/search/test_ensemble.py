"""Ensembles average probabilities."""

from typing import Any

import pytest
import torch

from tests.support.known_model import KnownModel, sources
from translator.core import SOS
from translator.inference.engines.torch_searcher import TorchSearcher
from translator.search.ensemble import Ensemble, log_mean_probabilities


def test_each_step_of_an_ensemble_has_the_mean_probabilities_of_its_models() -> None:
    models = [KnownModel(1), KnownModel(2), KnownModel(3)]
    ensemble = Ensemble(models)
    state = ensemble.start(sources(10, 11))
    state.select(torch.tensor([1]))
    mean = torch.stack([model.next_logits(11, (SOS,)).softmax(0) for model in models]).mean(0)
    torch.testing.assert_close(ensemble.step(torch.tensor([SOS]), state)[0], mean.log())


def test_an_ensemble_has_the_positions_of_its_smallest_model() -> None:
    models: list[Any] = [KnownModel(1), KnownModel(2)]
    models[1].max_positions = 7
    assert TorchSearcher(models, torch.device("cpu")).max_positions == 7


def test_mean_log_probabilities_do_not_underflow() -> None:
    logits = [torch.tensor([[0.0, -500.0]]), torch.tensor([[0.0, -400.0]])]
    assert log_mean_probabilities(logits)[0, 1].item() == pytest.approx(-400.6931, abs=1e-3)
