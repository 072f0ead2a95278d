"""One update of the weights: forward and backward over every batch of the step, clip, update."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from translator.config import TrainingConfig
from translator.data import Batch
from translator.device import Arithmetic
from translator.model import Transformer
from translator.training.loss import label_smoothed_loss
from translator.training.optimizer import set_learning_rate
from translator.training.schedule import learning_rate


@dataclass(frozen=True)
class StepResult:
    """What a step did; tensors stay on the device, so that nobody waits for them here."""

    negative_log_likelihood: Tensor
    """() sum over the target tokens of the step, without label smoothing."""
    gradient_norm: Tensor
    """() L2 norm before clipping."""
    target_tokens: int
    source_tokens: int
    positions: int
    """Positions of all batches, both sides, padding included."""


def take_step(
    model: Transformer,
    batches: Sequence[Batch],
    optimizer: torch.optim.Optimizer,
    step: int,
    config: TrainingConfig,
    arithmetic: Arithmetic,
) -> StepResult:
    """Update `model` once on the union of `batches` (teacher forcing) and return what was seen.

    Each loss is divided by the target tokens of the whole step, so that accumulated batches give the gradient that one
    large batch would give, however unevenly the tokens fall on them.
    """
    target_tokens = sum(batch.target_tokens for batch in batches)
    total = torch.zeros((), device=arithmetic.device)
    for batch in batches:
        batch = batch.to(arithmetic.device, non_blocking=True)
        with arithmetic.autocast():
            logits = model(batch.source, batch.target_input)  # (B, T, V)
            loss = label_smoothed_loss(logits, batch.labels, config.label_smoothing)
        (loss.smoothed / target_tokens).backward()  # type: ignore[no-untyped-call]
        total += loss.negative_log_likelihood
    norm = nn.utils.clip_grad_norm_(model.parameters(), config.gradient_clip or float("inf"))
    set_learning_rate(optimizer, learning_rate(step, config))
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return StepResult(
        total,
        norm,
        target_tokens,
        sum(batch.source_tokens for batch in batches),
        sum(batch.source.numel() + batch.labels.numel() for batch in batches),
    )
