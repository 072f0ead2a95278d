"""An exponential moving average of the weights: it follows them, and often translates better than any one of them."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn


class MovingAverage:
    """The average of a model's weights, in which each update fades by `decay` at every later one.

    average ← average + (1 - d) · (weight - average), with d = min(decay, (1 + n) / (10 + n)) after n updates: the first
    weights, which are noise, are soon forgotten (the rule of TensorFlow's ExponentialMovingAverage with `num_updates`).

    Args:
        model: its weights are followed, from what they are now.
        decay: above 0 and below 1; about 1 / (1 - decay) updates count.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        assert 0.0 < decay < 1.0
        self._model = model
        self._decay = decay
        self._updates = 0
        self._names = [name for name, _ in model.named_parameters()]
        self._weights: list[Tensor] = [weight for _, weight in model.named_parameters()]
        self._averages = [weight.detach().clone() for weight in self._weights]
        self._raw: list[Tensor] | None = None

    @torch.no_grad()
    def update(self) -> None:
        """Take in the weights as they are now; call it after each step of the optimizer."""
        assert self._raw is None, "the model holds the average itself"
        decay = min(self._decay, (1 + self._updates) / (10 + self._updates))
        torch._foreach_lerp_(self._averages, self._weights, 1.0 - decay)
        self._updates += 1

    def weights(self) -> dict[str, Tensor]:
        """Return the average under the names of the model's `state_dict`; what is no weight is as the model has it."""
        own = {id(weight): average for weight, average in zip(self._weights, self._averages, strict=True)}
        everything = self._model.state_dict(keep_vars=True)
        return {name: own.get(id(tensor), tensor.detach()) for name, tensor in everything.items()}

    @property
    def state(self) -> dict[str, Any]:
        """What `restore` needs besides the weights, as JSON values."""
        return {"updates": self._updates}

    @torch.no_grad()
    def restore(self, weights: Mapping[str, Tensor], state: Mapping[str, Any]) -> None:
        """Put back what `weights` and `state` returned.

        Raises:
            KeyError: a weight or the number of updates is missing.
            RuntimeError: a weight has another shape.
        """
        for name, average in zip(self._names, self._averages, strict=True):
            average.copy_(weights[name])
        self._updates = int(state["updates"])

    @contextlib.contextmanager
    def swapped_in(self) -> Iterator[None]:
        """Let the model compute with the average inside the block; afterwards its raw weights are back bit for bit."""
        self.swap_out()
        raw = [weight.detach().clone() for weight in self._weights]
        self._raw = raw
        try:
            with torch.no_grad():
                torch._foreach_copy_(self._weights, self._averages)
            yield
        finally:
            self.swap_out()

    def swap_out(self) -> None:
        """Give the model its raw weights back if they are out: a signal may have broken off the end of `swapped_in`."""
        if self._raw is not None:
            with torch.no_grad():
                torch._foreach_copy_(self._weights, self._raw)
            self._raw = None
