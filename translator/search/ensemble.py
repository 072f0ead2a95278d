"""Ensembles: several models that search as one.

B sentences, W rows of each sentence, R = B * W rows, S source length, T target length, V vocabulary
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from translator.core.search import SearchState


class EnsembleState(list[SearchState]):
    """The states of the models of an ensemble."""

    def select(self, rows: Tensor) -> None:
        """Reorder, repeat and drop rows (R',) int64 of each state; see `SearchState.select`."""
        for state in self:
            state.select(rows)


class Ensemble:
    """Averages the next-token probabilities of models that share their vocabularies; a `SearchModel`."""

    def __init__(self, models: Sequence[Any]) -> None:
        self._models = list(models)

    def start(self, source: Tensor, width: int = 1) -> EnsembleState:
        """Return the states before the first step, for `source` (B, S) int64 and W = `width` rows a sentence."""
        return EnsembleState([model.start(source, width) for model in self._models])

    def step(self, tokens: Tensor, cache: EnsembleState) -> Tensor:
        """Return the log of the mean probabilities (R, V) of the tokens after `tokens` (R,), and advance `cache`."""
        logits = []
        for model, state in zip(self._models, cache, strict=True):
            logits.append(model.step(tokens, state))
        return log_mean_probabilities(logits)

    def __call__(self, source: Tensor, target_input: Tensor) -> Tensor:
        """Return the log of the mean probabilities (B, T, V) by teacher forcing; see `Transformer.forward`."""
        return log_mean_probabilities([model(source, target_input) for model in self._models])


def log_mean_probabilities(logits: Sequence[Tensor]) -> Tensor:
    """Return log(mean(softmax(l) for l in logits)), (..., V) float32, for logits (..., V) of each model.

    It is computed in log space, so that very small probabilities do not become 0.
    """
    log_probabilities = torch.stack([tensor.float().log_softmax(dim=-1) for tensor in logits])
    return log_probabilities.logsumexp(dim=0) - math.log(len(logits))
