"""Batches of sentences of similar lengths, which keep padding small. Imports no torch."""

from collections.abc import Callable, Iterator, Sequence


def batches_by_length(lengths: Sequence[int], batch_size: Callable[[int], int]) -> Iterator[list[int]]:
    """Yield the indices of the sentences of each batch, longest sentences first.

    Args:
        lengths: tokens of each sentence.
        batch_size: returns the maximum number of sentences of a batch, for the length of its longest sentence.
    """
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    start = 0
    while start < len(order):
        end = start + batch_size(lengths[order[start]])
        yield order[start:end]
        start = end
