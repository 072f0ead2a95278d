"""Step results with given losses, for tests of what looks at training."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from translator.core.update import StepResult
from translator.data import Batch, collate_rows


def step_result(
    pairs: Sequence[int],
    target_lengths: Sequence[int],
    losses: Sequence[float],
    norm: float = 1.0,
    finite: bool = True,
    batches: int = 1,
    row_length: int | None = None,
) -> StepResult:
    """Return the result of a step on pairs whose sources have as many tokens as the targets.

    Each of the `batches` has one row with its share of the pairs. `losses` has the loss of each sentence.
    """
    all_batches = []
    token_losses = []
    for places in np.array_split(np.arange(len(pairs)), batches):
        sentences = [[10 + place] * (target_lengths[place] - 1) for place in places]
        batch = collate_rows([[(ids, ids) for ids in sentences]], row_length)
        all_batches.append(replace(batch, pairs=np.array([pairs[place] for place in places])))
        token_losses.append(at_first_tokens(batch, [losses[place] for place in places]))
    return StepResult(
        token_losses=tuple(token_losses),
        batches=tuple(all_batches),
        gradient_norm=torch.tensor(norm),
        finite=torch.tensor(finite),
        target_tokens=sum(batch.target_tokens for batch in all_batches),
        source_tokens=sum(batch.source_tokens for batch in all_batches),
        positions=sum(batch.positions for batch in all_batches),
        learning_rate=1e-3,
        passes=1,
    )


def at_first_tokens(batch: Batch, losses: Sequence[float]) -> torch.Tensor:
    """Return (R, L) with the loss of each sentence at its first token."""
    token_losses = torch.zeros(batch.labels.shape)
    is_first = (batch.target_sentence > 0) & (batch.target_position == 0)
    token_losses[is_first] = torch.tensor(losses, dtype=torch.float32)
    return token_losses


def broken_step(pair: int = 0) -> StepResult:
    return step_result([pair], [3], [math.nan], norm=math.nan, finite=False)
