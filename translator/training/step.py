"""One update of the weights: the gradient of the step, clipped, and AdamW."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from translator.config import TrainingConfig
from translator.data import Batch
from translator.training.gradients import Gradients
from translator.training.norms import BlockNorms
from translator.training.optimizer import update
from translator.training.prefetch import PlacedStep
from translator.training.randomness import seed_step
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
    block_norms: Tensor | None = None
    """(blocks,) norm of each block's gradient before clipping, where it was asked for."""


def take_step(
    gradients: Gradients,
    optimizer: torch.optim.AdamW,
    placed: PlacedStep,
    number: int,
    config: TrainingConfig,
    seed: tuple[int, int],
    norms: BlockNorms | None = None,
) -> StepResult:
    """Update the weights once on `placed`, this process's part of update `number` (from 1), and say what was seen.

    An update whose gradient is not finite is left out, on a GPU as well without waiting for the answer: the kernel of
    the optimizer is told by a tensor, as by a gradient scaler. A loss that is not finite has such a gradient too.

    Args:
        gradients: of the model.
        optimizer: of its weights.
        placed: batches on the device.
        number: of the update, for the learning rate and the noise.
        config: learning rate, schedule and clipping.
        seed: of the run, and the rank of this process: other processes drop other entries.
        norms: measures the gradient block by block, on request.
    """
    run_seed, rank = seed
    batches, losses = gradients.compute(placed, lambda: seed_step(run_seed, number, rank))
    weights = [weight for group in optimizer.param_groups for weight in group["params"] if weight.grad is not None]
    norm = nn.utils.get_total_norm([weight.grad for weight in weights])
    finite = torch.isfinite(norm)
    block_norms = None if norms is None else norms.gradients()
    update(optimizer, learning_rate(number, config), norm, finite, config.gradient_clip)
    return StepResult(
        tuple(losses),
        tuple(one.batch for one in batches),
        norm,
        finite,
        placed.step.target_tokens,
        placed.step.source_tokens,
        placed.step.positions,
        block_norms,
    )
