"""Hypotheses and their ranking, shared by all engines. Imports no torch, which is slow to start."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from translator.config import SearchConfig
from translator.errors import ConfigError, InputError
from translator.special_tokens import SOS

if TYPE_CHECKING:
    from torch import Tensor

FIRST_PRODUCED: Final = SOS + 1  # the lowest id that a search produces; PAD, UNK and SOS lie below it
EXTRA_LENGTH: Final = 10  # tokens allowed beyond the length ratio, and beyond a forced prefix

Rows = Sequence[Sequence[int]]  # ids of several sentences


Numbers = TypeVar("Numbers", float, "Tensor")


def length_penalty(length: Numbers, config: SearchConfig) -> Numbers:
    """Return the divisor of the summed log-probability of `length` tokens, EOS included (`gnmt`: Wu et al. 2016 §7).

    The divisor does not decrease with length, and each further token adds a log-probability of at most 0. So the sum,
    divided by the divisor of the maximum length, is an upper bound on the normalized score of every continuation.

    >>> length_penalty(7.0, SearchConfig(length_penalty=1.0))
    2.0
    """
    base = (length + 5.0) / 6.0 if config.length_normalization == "gnmt" else length
    return base**config.length_penalty  # type: ignore[no-any-return]


def lengths_of_outputs(
    rows: Rows, config: SearchConfig, max_positions: int, prefixes: Rows | None = None
) -> tuple[list[int], list[int]]:
    """Return the shortest and the longest output of each row; as `output_lengths`, but for rows of ids without EOS."""
    shortest, longest = [], []
    for row, prefix in zip(rows, prefixes or [()] * len(rows), strict=True):
        tokens = len(row) + 1
        most = min(max_positions, EXTRA_LENGTH + max(int(tokens * config.max_length_ratio), len(prefix)))
        shortest.append(min(int(tokens * config.min_length_ratio), most))
        longest.append(most)
    return shortest, longest


@dataclass(frozen=True)
class Hypothesis:
    """One translation that a search has found."""

    tokens: tuple[int, ...]  # ids without SOS and EOS
    score: float  # summed log-probability of the tokens, and of EOS if finished
    normalized_score: float  # `score` divided by the length penalty; ranks the hypotheses
    finished: bool  # True if it ended in EOS, False if it was cut off at its maximum length
    token_scores: tuple[float, ...] = ()  # log-probability of each token, and of EOS if finished

    @classmethod
    def from_tokens(
        cls, tokens: Sequence[int], token_scores: Sequence[float], finished: bool, config: SearchConfig
    ) -> "Hypothesis":
        """Return the hypothesis of `tokens` (no SOS or EOS); `token_scores` also covers EOS if `finished`."""
        length = len(tokens) + finished  # EOS counts
        assert len(token_scores) == length
        score = sum(token_scores)
        return cls(tuple(tokens), score, score / length_penalty(length, config), finished, tuple(token_scores))


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


def alike(lengths: Sequence[int], size_of: Callable[[int], int]) -> Iterator[list[int]]:
    """Yield the sentence indices of each batch, longest sentences first; similar lengths keep padding small.

    `size_of` maps the longest length of a batch to the maximum number of its sentences.
    """
    order = sorted(range(len(lengths)), key=lambda number: -lengths[number])
    while order:
        size = size_of(lengths[order[0]])
        yield order[:size]
        order = order[size:]
