"""The gradients of all weights in one flat buffer; equals `Gradients` of `core/update.py` (read it first).

One buffer serves three purposes: ranks exchange it as one message, the norm reads it at once, and CUDA graphs write to
its fixed addresses. The exchange follows the backward pass: in pieces during the pass, it would exclude the CUDA graph
of the pass (measured in docs/scaling.md). A CPU with one rank needs none of that.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from translator.core.update import Gradients


class FlatGradients(Gradients):
    """One tensor with the gradients of `parameters`; each `.grad` is a view of it."""

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        sum_in_place: Callable[[Tensor], None],
        exchange: Literal["float32", "bf16"] = "float32",
    ) -> None:
        """Take the weights, the function that sums a tensor over all ranks, and the type in which they exchange it."""
        super().__init__(parameters)
        self._sum_in_place = sum_in_place
        self._exchange = exchange
        sizes = [parameter.numel() for parameter in self.parameters]
        like = self.parameters[0]
        self.flat = torch.zeros(sum(sizes), dtype=like.dtype, device=like.device)
        self.is_empty = True  # whether the next gradients are the first of an update
        # Each parameter has its part of the tensor as its gradient.
        self._views: list[Tensor] = []
        for parameter, part in zip(self.parameters, torch.split(self.flat, sizes), strict=True):
            view = part.view_as(parameter)
            parameter.grad = view
            self._views.append(view)

    def add(self, gradients: Sequence[Tensor]) -> None:
        """Add a gradient for each of the parameters, all at once: two hundred additions would take a millisecond.

        The first gradients of an update replace those of the last.
        """
        if self.is_empty:
            torch._foreach_copy_(self._views, list(gradients))
        else:
            torch._foreach_add_(self._views, list(gradients))
        self.is_empty = False

    def clear(self) -> None:
        """Let the next gradients replace these."""
        self.is_empty = True

    def sum_over_ranks(self) -> None:
        """Replace the gradients by their sums over all ranks, reproducibly."""
        if self._exchange == "float32":
            self._sum_in_place(self.flat)
            return
        rounded = self.flat.bfloat16()
        self._sum_in_place(rounded)
        self.flat.copy_(rounded)

    def norm(self) -> Tensor:
        """Return the L2 norm () of the whole gradient."""
        norm: Tensor = torch.linalg.vector_norm(self.flat)
        return norm
