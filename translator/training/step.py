"""One update of the weights: the gradient of the step, clipped, and the optimizer."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from translator.data import Batch
from translator.training.gradients import Gradients
from translator.training.norms import BlockNorms
from translator.training.optimizer import ModelOptimizer
from translator.training.prefetch import PlacedStep
from translator.training.randomness import seed_step


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
    learning_rate: float
    """Of the update."""
    block_norms: Tensor | None = None
    """(blocks,) norm of each block's gradient before clipping, where it was asked for."""


def take_step(
    gradients: Gradients,
    optimizer: ModelOptimizer,
    placed: PlacedStep,
    number: int,
    rate: float,
    clip: float | None,
    seed: tuple[int, int],
    norms: BlockNorms | None = None,
) -> StepResult:
    """Update the weights once on `placed`, this process's part of update `number` (from 1), and say what was seen.

    An update whose gradient is not finite is left out, by AdamW on a GPU without waiting for the answer: the kernel of
    the optimizer is told by a tensor, as by a gradient scaler. A loss that is not finite has such a gradient too.

    Args:
        gradients: of the model.
        optimizer: of its weights.
        placed: batches on the device.
        number: of the update, for the noise.
        rate: learning rate.
        clip: largest norm of the gradient that is not clipped.
        seed: of the run, and the rank of this process: other processes drop other entries.
        norms: measures the gradient block by block, on request.
    """
    run_seed, rank = seed
    batches, losses = gradients.compute(placed, lambda: seed_step(run_seed, number, rank))
    norm = nn.utils.get_total_norm(optimizer.gradients)
    finite = torch.isfinite(norm)
    block_norms = None if norms is None else norms.gradients()
    optimizer.update(rate, norm, finite, clip)
    return StepResult(
        tuple(losses),
        tuple(one.batch for one in batches),
        norm,
        finite,
        placed.step.target_tokens,
        placed.step.source_tokens,
        placed.step.positions,
        rate,
        block_norms,
    )
