"""The gradients of all weights, in one flat buffer with fixed addresses.

One buffer serves three purposes: ranks exchange it as one message, the norm reads it at once, and CUDA graphs write to
its fixed addresses. A CPU with one rank needs none of that: there, the first backward pass of an update makes new
gradients, which saves the addition to a buffer of zeros.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from translator.training.distributed import Distributed


class FlatGradients:
    """One tensor with the gradients of `parameters`; each `.grad` is a view of it."""

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        sizes = [parameter.numel() for parameter in parameters]
        like = parameters[0]
        self.flat = torch.zeros(sum(sizes), dtype=like.dtype, device=like.device)
        for parameter, view in zip(parameters, torch.split(self.flat, sizes), strict=True):
            parameter.grad = view.view_as(parameter)

    def clear(self) -> None:
        """Set all gradients to zero."""
        self.flat.zero_()

    def sum_over_ranks(self, distributed: Distributed) -> None:
        """Replace the gradients by their sums over all ranks, reproducibly."""
        distributed.sum_in_place(self.flat)

    def norm(self) -> Tensor:
        """Return the L2 norm () of the whole gradient."""
        norm: Tensor = torch.linalg.vector_norm(self.flat)
        return norm


class FreshGradients:
    """Gradients of `parameters` that the first backward pass of each update creates; for one rank."""

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        self._parameters = parameters

    def clear(self) -> None:
        """Remove all gradients."""
        for parameter in self._parameters:
            parameter.grad = None

    def sum_over_ranks(self, distributed: Distributed) -> None:
        """Do nothing: there is one rank."""
        assert distributed.world_size == 1

    def norm(self) -> Tensor:
        """Return the L2 norm () of the whole gradient."""
        gradients = [parameter.grad for parameter in self._parameters if parameter.grad is not None]
        return nn.utils.get_total_norm(gradients)


def gradients_of(model: nn.Module, device: torch.device, distributed: Distributed) -> FlatGradients | FreshGradients:
    """Return the gradients of the weights of `model`, which are on `device`."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if device.type == "cpu" and distributed.world_size == 1:
        return FreshGradients(parameters)
    return FlatGradients(parameters)
