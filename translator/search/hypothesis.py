"""Hypotheses, shared by all engines. Imports no torch, which is slow to start."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from translator.config import SearchConfig
from translator.errors import ConfigError, InputError
from translator.search.length_penalty import length_penalty
from translator.special_tokens import SOS

FIRST_PRODUCED: Final = SOS + 1  # the lowest id that a search produces; PAD, UNK and SOS lie below it

Rows = Sequence[Sequence[int]]
"""The ids of several sentences."""


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
        """Return the hypothesis of `tokens`, with its scores.

        Args:
            tokens: ids without SOS and EOS.
            token_scores: log-probability of each token, and of EOS if `finished`.
            finished: whether EOS follows the tokens.
            config: gives the length penalty.
        """
        length = len(tokens) + finished  # EOS counts
        assert len(token_scores) == length
        score = sum(token_scores)
        return cls(
            tokens=tuple(tokens),
            score=score,
            normalized_score=score / length_penalty(length, config),
            finished=finished,
            token_scores=tuple(token_scores),
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
