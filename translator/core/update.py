"""One update of the weights: gradients of all micro-batches, norm, finite check, clipping, optimizer.

An update with two micro-batches on two ranks, which divide the rows of each batch among them:

    rank 0:  rows of batch 1 → gradients ─┐
             rows of batch 2 → gradients ─┴ add ─┐
                                                 ├ sum → norm → finite? → clip → AdamW, the same on both ranks
    rank 1:  rows of batch 1 → gradients ─┐      │
             rows of batch 2 → gradients ─┴ add ─┘

Each loss is divided by the target tokens of the whole update, so that the sum is the gradient of one large batch.

R rows of a micro-batch, L positions of a row
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from translator.core.batch import Batch, StepBatches
from translator.core.loss import Losses, TeacherForcing
from translator.core.optimizer import ModelOptimizer, ScheduleSettings, drops, learning_rate


@dataclass(frozen=True)
class StepResult:
    """What an update leaves for reports; its tensors stay on the device, without synchronization."""

    step_batches: StepBatches  # what it learned from, on the CPU
    token_losses: tuple[Tensor, ...]
    """(R, L) float32 for each micro-batch of this rank: unsmoothed negative log-likelihood of each token in nats."""
    gradient_norm: Tensor  # () L2 norm before clipping, of the whole update
    finite: Tensor  # () bool: False if the gradient was not finite and the update was skipped
    learning_rate: float


class Gradients:
    """The gradients of an update, beside each weight as torch keeps them; `speed/gradients.py` has another form."""

    def __init__(self, parameters: Iterable[nn.Parameter]) -> None:
        self.parameters = list(parameters)

    def add(self, gradients: Sequence[Tensor]) -> None:
        """Add a gradient for each of the parameters; those of all micro-batches add up."""
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            if parameter.grad is None:
                parameter.grad = gradient.contiguous()
            else:
                parameter.grad.add_(gradient)

    def clear(self) -> None:
        """Forget the gradients of an update."""
        for parameter in self.parameters:
            parameter.grad = None

    def sum_over_ranks(self) -> None:
        """Replace the gradients by their sums over all ranks; here, there is one rank."""

    def norm(self) -> Tensor:
        """Return the L2 norm () of the whole gradient."""
        gradients = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        return nn.utils.get_total_norm(gradients)


def forward_backward(
    loss: Callable[[Batch], Losses],
    gradients: Gradients,
    batch: Batch,
    weight: Tensor,
) -> Tensor:
    """Add the gradients of one micro-batch to `gradients`; return the loss of each token (R, L) in nats.

    `loss` and `gradients` are of one model. `weight` (), on its device, is a factor of the gradients: 1 / target tokens
    of the whole update, times the loss scale.
    """
    losses = loss(batch.to(weight.device))
    gradients.add(torch.autograd.grad(losses.objective * weight, gradients.parameters))
    return losses.of_tokens


ForwardBackward = Callable[[TeacherForcing, Gradients, Batch, Tensor], Tensor]
"""Adds the gradients of a batch, as `forward_backward` does; `training/learner.py` chooses among other forms."""


@dataclass(frozen=True)
class Learner:
    """A model and what trains it; `update` makes one training step."""

    loss: TeacherForcing
    optimizer: ModelOptimizer
    gradients: Gradients
    schedule: ScheduleSettings
    clip: float | None = 1.0  # maximum L2 norm of the gradient of all weights; None: no clipping
    seed: int = 1
    rank: int = 0
    forward_backward: ForwardBackward = forward_backward

    def update(self, step_batches: StepBatches, number: int, seconds: float = 0.0) -> StepResult:
        """Update the weights once and return the result; skip the update if the gradient is not finite.

        Args:
            step_batches: this rank's micro-batches, on the CPU, with the number of target tokens of all ranks.
            number: number of the update, from 1, for schedules and dropout.
            seconds: of training before the update, for schedules.
        """
        model = self.loss.model
        rate = learning_rate(number, self.schedule, seconds)
        # Training mode means dropout and nothing else: before `dropout_from`, the model trains in evaluation mode.
        model.train(drops(number, self.schedule, seconds))
        seed_update(self.seed, number, self.rank)

        # 1. The gradients of the mean loss of a target token, over all micro-batches, times the loss scale.
        device = model.head_weight.device
        loss_weight = torch.full((), 1.0 / step_batches.target_tokens, device=device) * self.optimizer.scale
        token_losses = []
        for batch in step_batches.batches:
            token_losses.append(self.forward_backward(self.loss, self.gradients, batch, loss_weight))
        self.gradients.sum_over_ranks()

        # 2. The norm of the gradient, without the loss scale. It is not finite if any gradient or loss is not finite.
        norm = self.gradients.norm() / self.optimizer.scale
        finite = torch.isfinite(norm)

        # 3. Update the weights by the clipped gradient; the divisor also removes the loss scale.
        divisor = self.optimizer.scale * clipping_divisor(norm, self.clip)
        self.optimizer.update(rate, divisor, finite)
        self.gradients.clear()
        return StepResult(
            step_batches=step_batches,
            token_losses=tuple(token_losses),
            gradient_norm=norm,
            finite=finite,
            learning_rate=rate,
        )


def clipping_divisor(norm: Tensor, clip: float | None) -> Tensor | float:
    """Return the divisor () by which a gradient of this L2 norm gets the norm `clip` if it is longer.

    Pascanu et al. 2013 §3.2, "On the difficulty of training recurrent neural networks".
    """
    return 1.0 if clip is None else (norm / clip).clamp(min=1.0)


def seed_update(seed: int, number: int, rank: int) -> None:
    """Seed torch for update `number` of `rank`: its dropout does not depend on what came before, as after a restart."""
    sequence = np.random.SeedSequence([seed, number, rank])
    (update_seed,) = sequence.generate_state(1, np.uint64)
    torch.manual_seed(int(update_seed))
