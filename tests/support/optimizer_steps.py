"""A network of six weights and updates of it, for tests of optimizers."""

import copy
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from translator.core.optimizer import ModelOptimizer
from translator.core.update import clipping_divisor

FINITE = torch.tensor(True)
RATE = 1e-2


def network() -> nn.Sequential:
    """Two matrices and four vectors, always with the same values."""
    torch.manual_seed(0)
    return nn.Sequential(OrderedDict(encoder=nn.Linear(4, 8), norm=nn.LayerNorm(8), decoder=nn.Linear(8, 2)))


def gradients_of(model: nn.Module) -> list[Tensor]:
    return [weight.grad for weight in model.parameters() if weight.grad is not None]


def backward(model: nn.Module, number: int) -> Tensor:
    """Give the weights a gradient that depends on `number`, and return its norm."""
    device = next(model.parameters()).device
    inputs = torch.randn(5, 4, generator=torch.Generator().manual_seed(number)).to(device)
    model(inputs).square().sum().backward()
    return nn.utils.get_total_norm(gradients_of(model))


def make_update(model: nn.Module, optimizer: ModelOptimizer, number: int, clip: float | None = None) -> None:
    """One update of a loss that is multiplied by the scale of the optimizer, with a clipped gradient."""
    norm = backward(model, number)
    for gradient in gradients_of(model):
        gradient.mul_(optimizer.scale)
    optimizer.update(RATE, optimizer.scale * clipping_divisor(norm, clip), FINITE)
    model.zero_grad()


def skip_update(model: nn.Module, optimizer: ModelOptimizer, value: float) -> None:
    """An update whose gradients are all `value`, which is not finite."""
    for weight in model.parameters():
        weight.grad = torch.full_like(weight, value)
    optimizer.update(RATE, torch.tensor(value), ~FINITE)
    model.zero_grad()


def moments_of(optimizer: ModelOptimizer) -> dict[str, Tensor]:
    """Copies of the moments and counts of each weight, without the state of a loss scale."""
    tensors = {}
    for name, part in optimizer.optimizers.items():
        for number, moments in part.state_dict()["state"].items():
            for kind, tensor in moments.items():
                tensors[f"{name}.{number}.{kind}"] = copy.deepcopy(tensor)
    return tensors


class NoHostReads(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Fails where Python reads the value of a tensor, for which a GPU would have to finish its work."""

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        assert function is not torch.ops.aten._local_scalar_dense.default, "the host reads a tensor"
        return function(*args, **kwargs or {})


@contextmanager
def no_synchronization(device: torch.device) -> Iterator[None]:
    """Fail on a host read; on a GPU, on anything that waits for it."""
    if device.type == "cuda":
        torch.cuda.set_sync_debug_mode("error")
    try:
        with NoHostReads():  # type: ignore[no-untyped-call]
            yield
    finally:
        if device.type == "cuda":
            torch.cuda.set_sync_debug_mode("default")
