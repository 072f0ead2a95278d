"""Hypotheses, and how they compare, whichever engine finds them. It imports no torch, which starts slowly."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from translator.config import SearchConfig
from translator.errors import ConfigError, InputError
from translator.special_tokens import SOS

if TYPE_CHECKING:
    from torch import Tensor

FIRST_PRODUCED: Final = SOS + 1  # the lowest id that a search produces: PAD, UNK and SOS below it stand for no text
EXTRA_LENGTH: Final = 10  # tokens that an output may have beyond its share of the source's, and beyond a forced prefix

Rows = Sequence[Sequence[int]]  # ids of several sentences


Numbers = TypeVar("Numbers", float, "Tensor")


def length_penalty(length: Numbers, config: SearchConfig) -> Numbers:
    """Return the divisor of a sum of log-probabilities of `length` tokens, EOS included (`gnmt`: Wu et al. 2016 §7).

    It never falls as hypotheses grow. So a sum over the divisor of the longest length bounds every continuation from
    above: each further token adds a log-probability, at most 0.

    >>> length_penalty(7.0, SearchConfig(length_penalty=1.0))
    2.0
    """
    base = (length + 5.0) / 6.0 if config.length_normalization == "gnmt" else length
    return base**config.length_penalty  # type: ignore[no-any-return]


def lengths_of_outputs(
    rows: Rows, config: SearchConfig, max_positions: int, prefixes: Rows | None = None
) -> tuple[list[int], list[int]]:
    """Return what `output_lengths` returns, from rows of ids without EOS instead of a tensor."""
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
    score: float  # sum of the log-probabilities of the tokens, and of EOS where it came
    normalized_score: float  # `score` over the length penalty; what hypotheses are compared by
    finished: bool  # True when it ended in EOS, False when it was stopped at its longest length
    token_scores: tuple[float, ...] = ()  # log-probability of each token, and of EOS where it came

    @classmethod
    def from_tokens(
        cls, tokens: Sequence[int], token_scores: Sequence[float], finished: bool, config: SearchConfig
    ) -> "Hypothesis":
        """Return the hypothesis of `tokens` (no SOS, no EOS), each with its log-probability, EOS's last if finished."""
        length = len(tokens) + finished  # the model chose EOS, too
        assert len(token_scores) == length
        score = sum(token_scores)
        return cls(tuple(tokens), score, score / length_penalty(length, config), finished, tuple(token_scores))


def check_count(config: SearchConfig, count: int) -> None:
    """Raise ConfigError where the method of `config` cannot find `count` hypotheses, InputError where none could."""
    if count < 1:
        raise InputError(f"{count} translations of a sentence cannot be found; ask for 1 or more")
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
    """Yield the numbers of the sentences of each batch, the longest first: batches of like lengths have little padding.

    `size_of` gives the sentences that a batch may have whose longest one has that length.
    """
    order = sorted(range(len(lengths)), key=lambda number: -lengths[number])
    while order:
        size = size_of(lengths[order[0]])
        yield order[:size]
        order = order[size:]
