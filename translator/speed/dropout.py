"""Dropout with a fast random generator, for training on a CPU; equals `torch.nn.Dropout` in its mean and its share."""

import math
from typing import Final

import torch
from torch import Tensor, nn

NOISE_VALUES: Final = 1 << 16  # number of values of dropout noise: 16 bits per entry


class FastDropout(nn.Module):
    """In training, sets entries to zero with `probability` and scales the others up.

    torch's CPU kernel draws one random number per entry; this one draws 64 bits for four entries. The scale is rounded
    to the type of the entries. The probability is adjusted to it in steps of 2⁻¹⁶, so that the mean is preserved: in
    bfloat16, 0.1 becomes 0.0986.
    """

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    def forward(self, x: Tensor) -> Tensor:
        """Return `x` with dropout in training, else `x` itself."""
        if not self.training or self.probability == 0.0:
            return x
        return x * dropout_factors(x, self.probability)


def dropout_factors(like: Tensor, probability: float) -> Tensor:
    """Return factors with shape and type of `like`: 0 with `probability`, else the scale that preserves the mean."""
    # Round the scale to the type by arithmetic that torch.compile can trace: 1 / 0.9 becomes 1.109375 in bfloat16.
    exact_scale = 1.0 / (1.0 - probability)
    exponent = math.floor(math.log2(exact_scale))
    unit = torch.finfo(like.dtype).eps * 2.0**exponent  # the distance of neighbouring numbers of the type at the scale
    scale = round(exact_scale / unit) * unit

    # The number of noise values that drop an entry, so that the mean of the factors is 1; at least one value keeps it.
    dropped_share = 1.0 - 1.0 / scale
    dropping_values = round(dropped_share * NOISE_VALUES)
    dropping_values = min(dropping_values, NOISE_VALUES - 1)

    # 64 random bits are four signed 16-bit noise values.
    count = like.numel()
    words = torch.empty((count + 3) // 4, dtype=torch.int64)
    words.random_(-(2**63), None)  # all values of the type; a bound without `None` would be the upper one
    noise = words.view(torch.int16)[:count].view(like.shape)

    # The lowest noise values, from -2¹⁵ on, drop their entry.
    lowest_kept = dropping_values - NOISE_VALUES // 2
    factors = (noise >= lowest_kept).to(like.dtype)
    return factors.mul_(scale)


def use_fast_dropout(model: nn.Module) -> None:
    """Replace the dropout of `model` by the form that is fast on a CPU."""
    for module in list(model.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.Dropout):
                setattr(module, name, FastDropout(child.p))
