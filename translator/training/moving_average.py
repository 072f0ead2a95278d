"""The exponential moving average of the weights, used for validation and translation if it is enabled."""

import copy

import torch

from translator.core.transformer import Transformer


class MovingAverage:
    """An exponential moving average of the weights of a model.

    torch's `AveragedModel` does the same, but copies its counter to the GPU at each update, which waits for the GPU.
    """

    def __init__(self, model: Transformer, decay: float) -> None:
        """Start with the weights of `model`; `decay` is the share of the old average in the new one."""
        self.model = copy.deepcopy(model).requires_grad_(False)  # the averaged weights
        self.updates = 0
        self._decay = decay

    @torch.no_grad()
    def update(self, model: Transformer) -> None:
        """Move the average towards the weights of `model`.

        Update number n has the decay min(decay, n / (9 + n)), so that the influence of the first weights fades quickly.
        """
        self.updates += 1
        decay = min(self._decay, self.updates / (9 + self.updates))
        torch._foreach_lerp_(list(self.model.parameters()), list(model.parameters()), 1.0 - decay)

    def restore(self, weights: dict[str, torch.Tensor], updates: int) -> None:
        """Continue from averaged weights, by name, after `updates` updates."""
        self.model.load_state_dict(weights)
        self.updates = updates
