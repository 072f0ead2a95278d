"""Limits of the length of an output, in proportion to the length of its source. Imports no torch."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from translator.config import SearchConfig
from translator.search.hypothesis import Rows

EXTRA_LENGTH: Final = 10  # tokens allowed beyond the length ratio, and beyond a forced prefix


class OutputLengths(NamedTuple):
    """The limits of B outputs in tokens, EOS included."""

    shortest: list[int]
    longest: list[int]


def output_lengths(
    source_lengths: Sequence[int], config: SearchConfig, max_positions: int, prefixes: Rows | None = None
) -> OutputLengths:
    """Return the minimum and the maximum length of each output.

    Each is a ratio of `config` times the source length, rounded down. The maximum is `EXTRA_LENGTH` tokens more, and
    lets as many tokens follow a forced prefix. Neither exceeds the positions of the model, and the minimum never
    exceeds the maximum.

    Args:
        source_lengths: B lengths in tokens, EOS included.
        config: gives `min_length_ratio` and `max_length_ratio`.
        max_positions: most tokens that the model accepts, EOS included.
        prefixes: for each sentence, the ids (without SOS) that begin its output.
    """
    prefix_lengths = [0] * len(source_lengths)
    if prefixes is not None:
        prefix_lengths = [len(prefix) for prefix in prefixes]

    lengths = OutputLengths(shortest=[], longest=[])
    for source_length, prefix_length in zip(source_lengths, prefix_lengths, strict=True):
        longest = max(int(source_length * config.max_length_ratio), prefix_length) + EXTRA_LENGTH
        longest = min(longest, max_positions)
        shortest = min(int(source_length * config.min_length_ratio), longest)
        lengths.longest.append(longest)
        lengths.shortest.append(shortest)
    return lengths
