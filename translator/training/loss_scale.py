"""Dynamic loss scaling, which keeps gradients in the range of fp16."""

from typing import Final

import torch
from torch import Tensor

FIRST_FACTOR: Final = 2.0**16
STEADY: Final = 2000  # updates with finite gradients after which the loss scale grows


class LossScale:
    """A factor of the loss, adapted to the gradients (Micikevicius et al. 2018 §3.2).

    The factor halves after an update with a non-finite gradient, and doubles after 2,000 updates without one.
    `state` holds scalar tensors on the device: `factor`, and `since_change`, the finite updates since it last changed.
    """

    def __init__(self, device: torch.device) -> None:
        self.state = {
            "factor": torch.full((), FIRST_FACTOR, device=device),
            "since_change": torch.zeros((), dtype=torch.int32, device=device),
        }

    def adapt(self, finite: Tensor) -> None:
        """Adjust the factor after an update, without GPU synchronization; `finite` is () bool."""
        factor = self.state["factor"]
        since_change = self.state["since_change"] + 1
        steady = since_change >= STEADY
        grown_factor = torch.where(steady, 2.0 * factor, factor)
        self.state["factor"] = torch.where(finite, grown_factor, 0.5 * factor)
        # A product sets the count to zero: `torch.where` would copy a Python number to the GPU and wait for it.
        self.state["since_change"] = since_change * (finite & ~steady)
