"""One update of the weights: the gradient of the step, clipped, and AdamW."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from translator.config import TrainingConfig
from translator.data import Batch, StepBatches
from translator.training.gradients import Gradients
from translator.training.optimizer import update
from translator.training.schedule import learning_rate


@dataclass(frozen=True)
class StepResult:
    """What a step did; tensors stay on the device, so that nobody waits for them here."""

    sentence_losses: tuple[Tensor, ...]
    """For each batch of this process (B,) float32: negative log-likelihood of its sentences in nats, unsmoothed."""
    batches: tuple[Batch, ...]
    """The batches of this process, on the CPU."""
    gradient_norm: Tensor
    """() L2 norm before clipping, of the whole step."""
    finite: Tensor
    """() bool: False if loss or gradient was not finite and the update was left out."""
    target_tokens: int
    """Real tokens of the whole step, on all processes, as are the two below."""
    source_tokens: int
    positions: int
    """Positions of all batches, both sides, padding included."""


def take_step(
    gradients: Gradients,
    optimizer: torch.optim.AdamW,
    share: StepBatches,
    step: int,
    config: TrainingConfig,
    norms: bool = False,
) -> StepResult:
    """Update the weights once on `share`, this process's part of update number `step` (from 1), and report.

    An update whose gradient is not finite is left out, on a GPU as well without waiting for the answer: the kernel of
    the optimizer is told by a tensor, as by a gradient scaler. A loss that is not finite has such a gradient too.
    """
    batches, losses = gradients.compute(share)
    weights = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    norm = nn.utils.get_total_norm([weight.grad for weight in weights if weight.grad is not None])
    finite = torch.isfinite(norm)
    update(optimizer, learning_rate(step, config), norm, finite, config.gradient_clip)
    return StepResult(losses, batches, norm, finite, share.target_tokens, share.source_tokens, share.positions)
