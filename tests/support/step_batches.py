"""The micro-batches of an update, as the core takes them."""

from collections.abc import Sequence

from translator.core.batch import Batch, StepBatches


def step_of(batches: Sequence[Batch]) -> StepBatches:
    """The micro-batches of one update on one rank."""
    target_tokens = sum(batch.target_tokens for batch in batches)
    return StepBatches(batches=tuple(batches), target_tokens=target_tokens)
