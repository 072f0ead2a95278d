"""Which pieces are searched together."""

from collections.abc import Iterator, Sequence
from typing import Final

from translator.config import SearchConfig
from translator.search.alike import alike

SOURCE_POSITIONS_AT_ONCE: Final = 16_384
"""Source positions of a batch at most, each counted once per hypothesis, so that long lines do not fill the memory."""


def plan_batches(lengths: Sequence[int], config: SearchConfig, count: int = 1) -> Iterator[list[int]]:
    """Return the numbers of the pieces of each batch: alike in length, the longest first, bounded in positions.

    Args:
        lengths: ids of each piece, EOS left out.
        config: how it is searched.
        count: hypotheses wanted for each.
    """
    width = max(count, config.beam_size) if config.method == "beam" else count

    def size(longest: int) -> int:
        return min(config.batch_size, max(1, SOURCE_POSITIONS_AT_ONCE // ((longest + 1) * width)))  # EOS is one more

    return alike(lengths, size)
