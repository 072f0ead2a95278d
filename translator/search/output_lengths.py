"""Limits of an output: its length in proportion to its source, what it may not say, and how many. Imports no torch."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from translator.config import SearchConfig
from translator.core.hypothesis import Rows
from translator.errors import ConfigError, InputError

EXTRA_LENGTH: Final = 10  # tokens allowed beyond the length ratio, and beyond a forced prefix


class OutputLimits(NamedTuple):
    """The limits of B outputs, for every engine; lengths are in tokens, EOS included.

    A limit that is empty or 0 excludes nothing.
    """

    longest: list[int]
    shortest: list[int]  # empty if any length is allowed
    no_repeat_ngram: int  # no n-gram of this length occurs twice
    no_doubles: bool  # no token follows itself
    prefixes: Rows  # the ids (without SOS) that begin each output; empty if none has any

    @property
    def exclude_tokens(self) -> bool:
        """Whether a search must leave out tokens that the model may find likely."""
        return any(self._replace(longest=[]))


def output_limits(
    source_lengths: Sequence[int],
    config: SearchConfig,
    max_positions: int,
    prefixes: Rows | None = None,
    *,
    no_doubles: bool = False,
) -> OutputLimits:
    """Return the limits of each output.

    Each length is a ratio of `config` times the source length, rounded down. The maximum is `EXTRA_LENGTH` tokens more,
    and lets as many tokens follow a forced prefix. Neither exceeds the positions of the model, and the minimum never
    exceeds the maximum.

    Args:
        source_lengths: B lengths in tokens, EOS included.
        config: gives `min_length_ratio`, `max_length_ratio` and `no_repeat_ngram`.
        max_positions: most tokens that the model accepts, EOS included.
        prefixes: for each sentence, the ids (without SOS) that begin its output.
        no_doubles: forbid that a token follows itself.
    """
    prefix_lengths = [0] * len(source_lengths)
    if prefixes is not None:
        prefix_lengths = [len(prefix) for prefix in prefixes]

    all_longest, all_shortest = [], []
    for source_length, prefix_length in zip(source_lengths, prefix_lengths, strict=True):
        longest = max(int(source_length * config.max_length_ratio), prefix_length) + EXTRA_LENGTH
        longest = min(longest, max_positions)
        all_longest.append(longest)
        all_shortest.append(min(int(source_length * config.min_length_ratio), longest))
    return OutputLimits(
        longest=all_longest,
        shortest=all_shortest if any(all_shortest) else [],
        no_repeat_ngram=config.no_repeat_ngram,
        no_doubles=no_doubles,
        prefixes=prefixes if prefixes is not None and any(prefixes) else [],
    )


def check_count(config: SearchConfig, count: int) -> None:
    """Raise ConfigError if the method of `config` cannot find `count` hypotheses, InputError if `count` is below 1."""
    if count < 1:
        raise InputError(f"cannot find {count} translations of a sentence; ask for 1 or more")
    if config.method == "greedy" and count > 1:
        raise ConfigError(
            f"`search.method: greedy` finds one translation of a sentence, not {count}; use `search.method: beam`"
        )
    if config.method == "beam" and count > config.beam_size:
        raise ConfigError(
            f"a beam of {config.beam_size} cannot find {count} translations of a sentence; "
            f"set `search.beam_size` to {count} or more"
        )
