"""What a `Translator` needs of an engine: source ids in, hypotheses out, whatever computes them."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from translator.config import SearchConfig
from translator.search import Hypothesis


class Searcher(Protocol):
    """An engine that picks translations; several threads may call one at the same time."""

    @property
    def name(self) -> str:
        """What computes: `torch`, `ctranslate2`."""

    @property
    def max_positions(self) -> int:
        """Longest sequence of either side that the model knows, its special token included."""

    def find(
        self,
        rows: Sequence[Sequence[int]],
        config: SearchConfig,
        count: int = 1,
        prefixes: Sequence[Sequence[int]] | None = None,
        check: Callable[[], None] | None = None,
    ) -> list[list[Hypothesis]]:
        """Return up to `count` hypotheses for each row, best first.

        Args:
            rows: source ids without EOS.
            config: how they are picked.
            count: hypotheses wanted for each row.
            prefixes: for each row the target ids that its hypotheses begin with.
            check: called before each step by an engine that sees its steps; what it raises ends the search.

        Raises:
            ConfigError: the settings cannot give so many hypotheses, or this engine does not know them.
            InputError: a row or a prefix is longer than the model knows.
        """

    def score(self, rows: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[Hypothesis]:
        """Return what the model gives each target, EOS included, as the translation of its row (teacher forcing).

        The normalized scores are those of the usual length penalty.

        Args:
            rows: source ids without EOS.
            targets: target ids without SOS and EOS.

        Raises:
            InputError: a side is longer than the model knows.
        """


@runtime_checkable
class AttentiveSearcher(Searcher, Protocol):
    """An engine that also tells where the decoder looked."""

    def cross_attention(
        self, rows: Sequence[Sequence[int]], labels: Sequence[Sequence[int]]
    ) -> list[npt.NDArray[np.float32]]:
        """Return (T, S) weights for each row: from each of its T labels to its S source tokens, EOS included.

        Args:
            rows: source ids without EOS.
            labels: target ids without SOS, with EOS where it was produced.

        Raises:
            InputError: a side is longer than the model knows.
        """
