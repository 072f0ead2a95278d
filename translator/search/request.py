"""What every engine is asked to search, and the limits of the outputs. Imports no torch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from translator.config import SearchConfig
from translator.core.hypothesis import Rows
from translator.errors import ConfigError, InputError

EXTRA_LENGTH: Final = 10  # tokens allowed beyond the length ratio, and beyond a forced prefix


@dataclass(frozen=True)
class SearchRequest:
    """Sentences to search, and what is wanted of each.

    Raises ConfigError: the method cannot find `count` hypotheses. Raises InputError: `count` is below 1.
    """

    rows: Rows  # source ids without EOS, of each sentence
    config: SearchConfig
    count: int = 1  # hypotheses per row; with sampling, the number of draws
    prefixes: Rows = ()  # for each row, the target ids that begin its hypotheses; empty if no row has any
    scored: bool = True  # False if only the tokens are needed; an engine may then skip exact scores
    no_doubles: bool = False  # forbid that a token follows itself
    check: Callable[[], None] | None = None  # called often during a search; an exception that it raises ends the search

    def __post_init__(self) -> None:
        """Refuse a count that the method cannot find."""
        count, config = self.count, self.config
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

    @property
    def forbids_tokens(self) -> bool:
        """Whether a search must leave out tokens that the model may find likely."""
        has_limits = self.config.min_length_ratio > 0 or self.config.no_repeat_ngram > 0
        return has_limits or self.no_doubles or any(self.prefixes)

    def select(self, numbers: Sequence[int]) -> "SearchRequest":
        """Return the request for the rows with these `numbers` only."""
        prefixes = [self.prefixes[number] for number in numbers] if self.prefixes else ()
        return replace(self, rows=[self.rows[number] for number in numbers], prefixes=prefixes)

    def first_equals(self) -> list[int]:
        """Return for each row the number of the first row with the same ids and prefix; samples are drawn for each."""
        if self.config.method == "sampling":
            return list(range(len(self.rows)))
        first_numbers: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
        firsts = []
        for number, row in enumerate(self.rows):
            prefix = self.prefixes[number] if self.prefixes else ()
            firsts.append(first_numbers.setdefault((tuple(row), tuple(prefix)), number))
        return firsts

    def longest_outputs(self, max_positions: int) -> list[int]:
        """Return the maximum length of each output in tokens, EOS included.

        It is max(`max_length_ratio` · length of the source, length of the forced prefix) + `EXTRA_LENGTH`, at most
        `max_positions`; the product is rounded down.

        Args:
            max_positions: most tokens that the model accepts, EOS included.
        """
        limits = []
        for number, source_length in enumerate(self._source_lengths()):
            longest = int(source_length * self.config.max_length_ratio)
            if self.prefixes:
                longest = max(longest, len(self.prefixes[number]))
            limits.append(min(longest + EXTRA_LENGTH, max_positions))
        return limits

    def shortest_outputs(self, max_positions: int) -> list[int]:
        """Return the minimum length of each output in tokens, EOS included; it never exceeds the maximum.

        It is `min_length_ratio` times the length of the source, rounded down; a ratio above 0 asks for at least one
        token before EOS, so that no short source has an empty translation.

        Args:
            max_positions: most tokens that the model accepts, EOS included.
        """
        limits = []
        ratio = self.config.min_length_ratio
        all_longest = self.longest_outputs(max_positions)
        for source_length, longest in zip(self._source_lengths(), all_longest, strict=True):
            shortest = int(source_length * ratio)
            if ratio > 0:
                shortest = max(shortest, min(source_length, 2))  # a token and EOS; only EOS for an empty source
            limits.append(min(shortest, longest))
        return limits

    def _source_lengths(self) -> list[int]:
        return [len(row) + 1 for row in self.rows]  # with EOS
