"""The norms of weights and gradients by block of the model: a layer, a final norm, an embedding or the head."""

import torch
from torch import Tensor, nn


@torch.no_grad()
def block_norms(model: nn.Module, *, gradients: bool) -> dict[str, Tensor]:
    """Return the L2 norm () of the weights of each block, or of its gradients; a missing gradient counts as zero."""
    # Collect the tensors of each block, in the order of the model.
    tensors_by_block: dict[str, list[Tensor]] = {}
    for name, weight in model.named_parameters():
        tensor = weight.grad if gradients else weight.detach()
        if tensor is None:
            tensor = weight.new_zeros(())
        tensors_by_block.setdefault(_block_of(name), []).append(tensor)
    return {block: nn.utils.get_total_norm(tensors) for block, tensors in tensors_by_block.items()}


def _block_of(name: str) -> str:
    """Return the block of the parameter `name`, such as `encoder.layers.0`, `encoder.norm` or `source_embedding`."""
    # A weight of its own, such as `own_head`, has the name of what it replaces.
    parts = name.removeprefix("own_").split(".")
    depth = {"layers": 3, "norm": 2}.get(parts[1], 1)
    return ".".join(parts[:depth])
