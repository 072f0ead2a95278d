"""The interface of a search engine. T target length, S source length"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from translator.core.hypothesis import Hypothesis, Rows, SearchSettings
from translator.errors import InputError
from translator.search.request import SearchRequest

CPU_BATCH_ROWS: Final = 64  # more rows of a batch are no faster
CPU_BATCH_POSITIONS: Final = 16_384  # bounds memory for long lines


class Searcher(ABC):
    """A search engine: source ids in, hypotheses out. Thread-safe."""

    name: str  # `torch` or `ctranslate2`
    arithmetic: str  # device and precision of matrix products; another value may change translations
    max_positions: int  # maximum length of either side, EOS or SOS included
    gives_attention = False
    batch_rows = CPU_BATCH_ROWS  # largest number of rows of a batch, if `search.batch_size` does not say
    batch_positions = CPU_BATCH_POSITIONS  # largest number of source positions, each counted once per hypothesis
    fewest_positions = 1  # a shorter source takes as much memory as one of so many positions

    @abstractmethod
    def find(self, request: SearchRequest) -> list[list[Hypothesis]]:
        """Return up to `request.count` hypotheses for each of its rows: the best first, or draws in order.

        No row and no prefix exceeds the positions of the model.

        Raises ConfigError: this engine does not support the settings.
        """

    @abstractmethod
    def score(self, rows: Rows, targets: Rows, settings: SearchSettings) -> list[Hypothesis]:
        """Return each target, scored as the translation of its row by teacher forcing, EOS included.

        Args:
            rows: source ids without EOS; no side exceeds the model's positions.
            targets: target ids without SOS and EOS, one for each row.
            settings: give the length penalty.
        """

    def check_attention(self) -> None:
        """Raise InputError if the engine gives no attention."""
        if not self.gives_attention:
            raise InputError(
                f"the {self.name} engine gives no attention, which attention maps and alignments need; use "
                "--engine torch"
            )

    @abstractmethod
    def cross_attention(self, row: Sequence[int], label: Sequence[int]) -> npt.NDArray[np.float32]:
        """Return attention weights (T, S), from T target to S source tokens; they sum to 1 for each target token.

        Args:
            row: source ids without EOS, which S includes.
            label: target ids without SOS, ended by EOS if the hypothesis is finished.

        Raises InputError: the engine gives no attention.
        """

    def batches(self, request: SearchRequest) -> Iterator[list[int]]:
        """Yield the numbers of the rows that are searched together: similar lengths, longest first.

        Long sentences take more memory for each hypothesis, so a batch has fewer of them.
        """
        width = max(request.count, request.config.settings.beam_size)
        most_rows = request.config.batch_size or self.batch_rows

        def size(longest: int) -> int:
            fitting_rows = self.batch_positions // (width * max(longest + 1, self.fewest_positions))
            return min(most_rows, max(1, fitting_rows))

        return batches_by_length([len(row) for row in request.rows], size)


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
