"""The moments of the optimizers of a model, as tensors by name for a file."""

from collections import defaultdict
from collections.abc import Mapping

from torch import Tensor

from translator.core.optimizer import ModelOptimizer
from translator.speed.loss_scale import ScaledOptimizer

_LOSS_SCALE = "loss_scale"


def moments_of(optimizer: ModelOptimizer) -> dict[str, Tensor]:
    """Return moments and counts by `OPTIMIZER.NUMBER.KIND`, and the loss scale, if any, as `loss_scale.0.KIND`.

    OPTIMIZER is `optimizer` (AdamW) or the name of another; NUMBER is that of the weight, in the order of its groups.
    """
    tensors = {}
    if isinstance(optimizer, ScaledOptimizer):
        for kind, tensor in optimizer.scale_state.items():
            tensors[f"{_LOSS_SCALE}.0.{kind}"] = tensor
    for name, torch_optimizer in optimizer.optimizers.items():
        for number, moments in torch_optimizer.state_dict()["state"].items():
            for kind, tensor in moments.items():
                tensors[f"{name}.{number}.{kind}"] = tensor
    return tensors


def restore_moments(optimizer: ModelOptimizer, tensors: Mapping[str, Tensor]) -> None:
    """Load `tensors`, the result of `moments_of`; learning rate and other settings keep their current values.

    A run may change its precision, and so gain or lose its loss scale.

    Raises KeyError: `tensors` has an optimizer that this one lacks.
    """
    # 1. Sort the tensors by optimizer and weight.
    states: dict[str, dict[int, dict[str, Tensor]]] = {}  # name of the optimizer, number of the weight, kind
    for name in optimizer.optimizers:
        states[name] = defaultdict(dict)
    scale_state = {}
    for key, tensor in tensors.items():
        name, number, kind = key.split(".", 2)  # see `moments_of`
        if name == _LOSS_SCALE:
            scale_state[kind] = tensor
        else:
            states[name][int(number)][kind] = tensor

    # 2. Give each optimizer its moments, and the loss scale its state.
    for name, torch_optimizer in optimizer.optimizers.items():
        settings = torch_optimizer.state_dict()["param_groups"]  # the current ones, which stay
        torch_optimizer.load_state_dict({"state": states[name], "param_groups": settings})
    if isinstance(optimizer, ScaledOptimizer) and scale_state:
        optimizer.restore_scale(scale_state)
