"""Finds steps whose loss lies far above what the steps before it had."""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final

from translator.training.meter import StepLosses

_MEMORY: Final = 0.98
"""Weight of all earlier steps in the running mean: it looks back on some fifty of them."""
_FIRST_STEPS: Final = 100
"""Steps that are only learnt from."""
_DEVIATIONS: Final = 6.0
_RATIO: Final = 1.2
"""A spike is more than six standard deviations and a fifth above the running mean."""
_WORST: Final = 5


@dataclass(frozen=True)
class Spike:
    """A step that was much worse than those before it."""

    step: int
    loss: float
    """Of the step."""
    mean: float
    """Running mean before it."""
    worst: list[tuple[int, float]]
    """Number and loss of the hardest pairs of the step; of several processes, those of the first one."""

    @property
    def line(self) -> str:
        """What a log says of it."""
        pairs = ", ".join(f"{number} ({loss:.2f})" for number, loss in self.worst)
        return (
            f"loss spike at step {self.step:,}: {self.loss:.3f} after {self.mean:.3f}; hardest training pairs: {pairs}"
        )


@dataclass
class LossSpikes:
    """Exponential mean and variance of a token's loss from step to step; all of it is saved in a checkpoint."""

    mean: float = 0.0
    variance: float = 0.0
    steps: int = 0

    def find(self, steps: Iterable[StepLosses]) -> list[Spike]:
        """Take in the next steps and return those that are spikes; skipped updates are left out."""
        spikes = []
        for taken in steps:
            if not math.isfinite(taken.loss):
                continue
            limit = max(self.mean + _DEVIATIONS * math.sqrt(self.variance), _RATIO * self.mean)
            is_spike = self.steps >= _FIRST_STEPS and taken.loss > limit
            if is_spike:
                spikes.append(Spike(taken.step, taken.loss, self.mean, taken.worst(_WORST)))
            # A spike counts no more than a loss at the limit, so that it does not hide the next one.
            self._learn(limit if is_spike else taken.loss)
        return spikes

    def _learn(self, loss: float) -> None:
        """Move mean and variance towards `loss`; the first steps all count alike."""
        self.steps += 1
        share = max(1.0 - _MEMORY, 1.0 / self.steps)
        difference = loss - self.mean
        self.mean += share * difference
        self.variance = (1.0 - share) * (self.variance + share * difference * difference)

    def state_dict(self) -> dict[str, Any]:
        """Return the numbers, which JSON keeps to the last bit; `LossSpikes(**state)` is the way back."""
        return asdict(self)
