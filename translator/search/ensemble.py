"""Several models that translate as one.

B batch, S source length, T target length, R rows of a search, V vocabulary
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from translator.search.model import SearchState, TranslationModel


@dataclass(frozen=True)
class EnsembleState:
    """What each model of an ensemble remembers."""

    states: list[SearchState]

    def select(self, rows: Tensor) -> None:
        """See `SearchState.select`."""
        for state in self.states:
            state.select(rows)


class Ensemble:
    """A model whose next-token probabilities are the mean of those of its models.

    Args:
        models: at least one; their source vocabularies are the same, and their target vocabularies too.
    """

    def __init__(self, models: Sequence[TranslationModel[Any]]) -> None:
        assert models, "an ensemble of nothing"
        self._models = list(models)

    @property
    def max_positions(self) -> int:
        """Steps that all of its models can take."""
        return min(model.max_positions for model in self._models)

    def start(self, source: Tensor, width: int = 1) -> EnsembleState:
        """See `SearchModel.start`."""
        return EnsembleState([model.start(source, width) for model in self._models])

    def step(self, tokens: Tensor, cache: EnsembleState) -> Tensor:
        """Return the logarithms (R, V) of the mean probabilities of the tokens that follow; see `SearchModel.step`."""
        steps = zip(self._models, cache.states, strict=True)
        return log_mean_probabilities([model.step(tokens, state) for model, state in steps])

    def __call__(self, source: Tensor, target_input: Tensor) -> Tensor:
        """Return the logarithms (B, T, V) of the mean probabilities; see `TeacherForcedModel`."""
        return log_mean_probabilities([model(source, target_input) for model in self._models])


def log_mean_probabilities(logits: Sequence[Tensor]) -> Tensor:
    """Return log(mean(softmax(l) for l in logits)), (..., V) float32, without leaving the logarithms.

    Args:
        logits: (..., V) each, of any float type.
    """
    if len(logits) == 1:
        return logits[0].float().log_softmax(dim=-1)
    log_probabilities = torch.stack([tensor.float().log_softmax(dim=-1) for tensor in logits])
    return log_probabilities.logsumexp(dim=0) - math.log(len(logits))
