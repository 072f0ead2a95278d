"""Dynamic loss scaling, which keeps gradients in the range of float16; otherwise `ModelOptimizer` of the core."""

from collections.abc import Mapping
from typing import Final

import torch
from torch import Tensor, nn

from translator.core.optimizer import ModelOptimizer, OptimizerSettings

FIRST_FACTOR: Final = 2.0**16
STEADY: Final = 2000  # updates with finite gradients after which the loss scale grows


class ScaledOptimizer(ModelOptimizer):
    """Multiplies the loss by a factor that adapts to the gradients (Micikevicius et al. 2018 §3.2).

    The factor halves after an update with a non-finite gradient, and doubles after 2,000 updates without one.
    """

    def __init__(
        self,
        model: nn.Module,
        settings: OptimizerSettings,
        extra: Mapping[str, torch.optim.Optimizer] | None = None,
    ) -> None:
        super().__init__(model, settings, extra)
        device = next(model.parameters()).device
        self._factor = torch.full((), FIRST_FACTOR, device=device)
        self._since_change = torch.zeros((), dtype=torch.int32, device=device)  # finite updates since it last changed

    @property
    def scale(self) -> Tensor:
        """The factor () of the loss, and so of the gradients."""
        return self._factor

    def update(self, rate: float, divisor: Tensor | float, finite: Tensor) -> None:
        """Update the weights, then adapt the factor, without GPU synchronization; see `ModelOptimizer.update`."""
        super().update(rate, divisor, finite)
        found_inf = (~finite).float()
        # The operation of `torch.amp.GradScaler`: it changes both in place.
        torch._amp_update_scale_(self._factor, self._since_change, found_inf, 2.0, 0.5, STEADY)

    @property
    def scale_state(self) -> dict[str, Tensor]:
        """The factor, and the count of finite updates, for a checkpoint."""
        return {"factor": self._factor, "since_change": self._since_change}

    def restore_scale(self, state: Mapping[str, Tensor]) -> None:
        """Load the result of `scale_state`."""
        device = self._factor.device
        self._factor = state["factor"].to(device)
        self._since_change = state["since_change"].to(device)
