"""L2 norms of the gradient and of the weights, block by block."""

import re
from typing import Final

import torch
from torch import Tensor, nn

_LAYER: Final = re.compile(r"(encoder|decoder)\.layers\.(\d+)\.")


class BlockNorms:
    """Measures a model's blocks: embeddings, each layer, final norms, output head.

    What it returns stays on the device until `named` reads it, so that measuring never waits.

    Args:
        model: the model itself, not wrapped for several processes.
    """

    def __init__(self, model: nn.Module) -> None:
        self._parameters: list[nn.Parameter] = []
        blocks = []
        for name, parameter in model.named_parameters():
            self._parameters.append(parameter)
            blocks.append(block_name(name))
        self.names = list(dict.fromkeys(blocks))
        """The blocks, in the order of the model."""
        self._places = [self.names.index(block) for block in blocks]

    @torch.no_grad()
    def gradients(self) -> Tensor:
        """Return (blocks,) the norm of each block's gradient as it stands; call it after backward, before clipping."""
        return self._norms([parameter.grad for parameter in self._parameters])

    @torch.no_grad()
    def weights(self) -> Tensor:
        """Return (blocks,) the norm of each block's weights."""
        return self._norms([parameter.detach() for parameter in self._parameters])

    def named(self, norms: Tensor) -> dict[str, float]:
        """Return the norms by block; this waits for the device."""
        return dict(zip(self.names, norms.tolist(), strict=True))

    def _norms(self, tensors: list[Tensor | None]) -> Tensor:
        """Return (blocks,) the norms of all that is there; what is not counts as zero."""
        there = [(place, tensor) for place, tensor in zip(self._places, tensors, strict=True) if tensor is not None]
        device = self._parameters[0].device
        squares = torch.zeros(len(self.names), device=device)
        if there:
            own = torch.stack(torch._foreach_norm([tensor for _, tensor in there])).float()
            places = torch.tensor([place for place, _ in there]).to(device, non_blocking=True)
            squares.index_add_(0, places, own.square())
        return squares.sqrt()


def block_name(parameter: str) -> str:
    """Return the block of a parameter's full name: `encoder.layers.0.self_attention…` is in `encoder.layers.0`."""
    layer = _LAYER.match(parameter)
    if layer:
        return layer[0].removesuffix(".")
    first, _, rest = parameter.removeprefix("own_").partition(".")
    return f"{first}.norm" if rest.startswith("norm.") else first
