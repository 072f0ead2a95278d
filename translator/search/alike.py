"""Which sentences are worked on together: those of like length, so that little is padding."""

from collections.abc import Callable, Iterator, Sequence


def alike(lengths: Sequence[int], size_of: Callable[[int], int]) -> Iterator[list[int]]:
    """Yield the numbers of the sentences of each batch, the longest first.

    Args:
        lengths: of each sentence.
        size_of: how many sentences a batch may have whose longest one has this length; at least 1.
    """
    order = sorted(range(len(lengths)), key=lambda number: -lengths[number])
    start = 0
    while start < len(order):
        size = size_of(lengths[order[start]])
        yield order[start : start + size]
        start += size
