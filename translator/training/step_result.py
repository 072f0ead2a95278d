"""`StepResult`: what an update leaves for reports.

R rows of a micro-batch, L positions of a row
"""

from dataclasses import dataclass

from torch import Tensor

from translator.data.batch import Batch


@dataclass(frozen=True)
class StepResult:
    """The result of an update; its tensors stay on the device, without synchronization."""

    token_losses: tuple[Tensor, ...]
    """(R, L) float32 for each micro-batch of this rank: unsmoothed negative log-likelihood of each token in nats."""
    batches: tuple[Batch, ...]  # micro-batches of this rank, on the CPU
    gradient_norm: Tensor  # () L2 norm before clipping, of the whole update
    finite: Tensor  # () bool: False if loss or gradient was not finite and the update was skipped
    target_tokens: int  # real tokens of the whole update on all ranks; the next two also cover all ranks
    source_tokens: int
    positions: int  # of all micro-batches, both sides, PAD included
    learning_rate: float
    passes: int  # forward passes per batch
    block_norms: dict[str, Tensor] | None = None  # () gradient norm of each block before clipping, on request
