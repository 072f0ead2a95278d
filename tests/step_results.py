"""Step results made by hand, for those that look at training."""

import math
from collections.abc import Sequence

import numpy as np
import torch

from translator.data import collate
from translator.training.step import StepResult


def step_result(
    numbers: Sequence[int],
    target_lengths: Sequence[int],
    losses: Sequence[float],
    norm: float = 1.0,
    finite: bool = True,
    batches: int = 1,
) -> StepResult:
    """Return the result of a step on pairs whose sources have as many tokens as the targets, in so many batches."""
    parts = [part.tolist() for part in np.array_split(np.arange(len(numbers)), batches)] if batches else []
    made = []
    for part in parts:
        rows = [[10] * (target_lengths[place] - 1) for place in part]
        made.append(collate(rows, rows, [numbers[place] for place in part]))
    return StepResult(
        sentence_losses=tuple(torch.tensor([losses[place] for place in part]) for part in parts),
        batches=tuple(made),
        gradient_norm=torch.tensor(norm),
        finite=torch.tensor(finite),
        target_tokens=sum(batch.target_tokens for batch in made),
        source_tokens=sum(batch.source_tokens for batch in made),
        positions=sum(batch.source.numel() + batch.labels.numel() for batch in made),
        learning_rate=1e-3,
    )


def broken_step(number: int = 0) -> StepResult:
    return step_result([number], [3], [math.nan], norm=math.nan, finite=False)
