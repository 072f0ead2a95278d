"""The gradients of all weights, in one flat buffer with fixed addresses.

One buffer serves three purposes: ranks exchange it as one message, the norm reads it at once, and CUDA graphs write to
its fixed addresses. The exchange follows the backward pass: in pieces during the pass, it would exclude the CUDA graph
of the pass (measured in docs/scaling.md). A CPU with one rank needs none of that: there, the gradients of the first
micro-batch of an update stay where they are, which saves the addition to a buffer of zeros.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from translator.training.distributed import Distributed

GradientExchange = Literal["float32", "bf16"]


class FlatGradients:
    """One tensor with the gradients of `parameters`; each `.grad` is a view of it."""

    def __init__(self, parameters: Sequence[nn.Parameter], exchange: GradientExchange = "float32") -> None:
        """Take the weights, and the format in which ranks send each other the gradients."""
        self.parameters = parameters
        self._exchange = exchange
        sizes = [parameter.numel() for parameter in parameters]
        like = parameters[0]
        self.flat = torch.zeros(sum(sizes), dtype=like.dtype, device=like.device)
        # Each parameter has its part of the tensor as its gradient.
        self._views: list[Tensor] = []
        for parameter, part in zip(parameters, torch.split(self.flat, sizes), strict=True):
            view = part.view_as(parameter)
            parameter.grad = view
            self._views.append(view)

    def add(self, gradients: Sequence[Tensor]) -> None:
        """Add a gradient for each of the parameters, all at once: two hundred additions would take a millisecond."""
        torch._foreach_add_(self._views, list(gradients))

    def clear(self) -> None:
        """Set all gradients to zero."""
        self.flat.zero_()

    def sum_over_ranks(self, distributed: Distributed) -> None:
        """Replace the gradients by their sums over all ranks, reproducibly."""
        if self._exchange == "float32" or distributed.world_size == 1:
            distributed.sum_in_place(self.flat)
            return
        rounded = self.flat.bfloat16()
        distributed.sum_in_place(rounded)
        self.flat.copy_(rounded)

    def norm(self) -> Tensor:
        """Return the L2 norm () of the whole gradient."""
        norm: Tensor = torch.linalg.vector_norm(self.flat)
        return norm


class FreshGradients:
    """Gradients of `parameters` that begin with those of the first micro-batch of each update; for one rank."""

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        self.parameters = parameters

    def add(self, gradients: Sequence[Tensor]) -> None:
        """Add a gradient for each of the parameters."""
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            if parameter.grad is None:
                parameter.grad = gradient.contiguous()
            else:
                parameter.grad.add_(gradient)

    def clear(self) -> None:
        """Remove all gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    def sum_over_ranks(self, distributed: Distributed) -> None:
        """Do nothing: there is one rank."""
        assert distributed.world_size == 1

    def norm(self) -> Tensor:
        """Return the L2 norm () of the whole gradient."""
        gradients = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        return nn.utils.get_total_norm(gradients)


Gradients = FlatGradients | FreshGradients


def gradients_of(
    model: nn.Module, device: torch.device, distributed: Distributed, exchange: GradientExchange = "float32"
) -> Gradients:
    """Return the gradients of the weights of `model`, which are on `device`; `exchange` as in `FlatGradients`."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if device.type == "cpu" and distributed.world_size == 1:
        return FreshGradients(parameters)
    return FlatGradients(parameters, exchange)
