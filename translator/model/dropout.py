"""Dropout (Srivastava et al. 2014) with noise that costs a CPU little."""

import math
from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_STEPS: Final = 1 << 16
"""Values of the noise: 16 bits for each entry."""


class Dropout(nn.Module):
    """Zeroes entries with probability `probability` in training and scales up the others; the identity otherwise.

    torch's own kernel draws one random number for each entry, one after the other on a CPU. There we draw 64 bits for
    four entries. What the others are scaled by is rounded to the type of the entries, and the probability, a multiple
    of 2⁻¹⁶, made to fit that, so that the mean is kept: 0.1 becomes 0.0986 in bfloat16. The noise comes from torch's
    generator. A GPU takes torch's kernel, which draws side by side.

    Args:
        probability: in [0, 1).
    """

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    def forward(self, x: Tensor) -> Tensor:
        """Return `x`, some of its entries dropped."""
        if not self.training or not self.probability:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.probability)
        return x * keep_scale(x, self.probability)

    def extra_repr(self) -> str:
        """Show the probability in the model's printed form."""
        return f"probability={self.probability}"


def keep_scale(like: Tensor, probability: float) -> Tensor:
    """Return a tensor shaped and typed as `like` (on a CPU): 0 with `probability`, else what keeps the mean."""
    scale = rounded(1.0 / (1.0 - probability), like.dtype)
    drop = min(round((1.0 - 1.0 / scale) * _STEPS), _STEPS - 1)  # of the 65,536 values of the noise, how many drop
    count = like.numel()
    words = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    noise = words.view(torch.int16)[:count].view(like.shape)
    kept = (noise >= drop - _STEPS // 2).to(like.dtype)
    return kept.mul_(scale)


def rounded(value: float, dtype: torch.dtype) -> float:
    """Return a positive `value`, neither tiny nor huge, as `dtype` has it; by arithmetic that a compiler sees through.

    >>> rounded(1 / 0.9, torch.bfloat16)
    1.109375
    """
    step = torch.finfo(dtype).eps * 2.0 ** math.floor(math.log2(value))
    return round(value / step) * step
