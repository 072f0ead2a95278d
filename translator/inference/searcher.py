"""The interface of a search engine. T target length, S source length"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from translator.config import SearchConfig
from translator.core.hypothesis import Hypothesis, Rows
from translator.errors import InputError

Check = Callable[[], None]

CPU_BATCH_ROWS: Final = 64  # more rows of a batch are no faster
CPU_BATCH_POSITIONS: Final = 16_384  # bounds memory for long lines


class Searcher(ABC):
    """A search engine: source ids in, hypotheses out. Thread-safe."""

    name: str  # `torch` or `ctranslate2`
    arithmetic: str  # device and precision of matrix products; another value may change translations
    max_positions: int  # maximum length of either side, EOS or SOS included
    gives_attention = False
    useful_processes = 1  # so many processes translate a long text faster than one does
    bytes_worth_processes = 0  # below this size in bytes of a text, starting processes costs more time than it saves
    batches_at_once = 1  # one call takes this many batches, and divides them itself
    batch_rows = CPU_BATCH_ROWS  # largest number of rows of a batch, if `search.batch_size` does not say
    batch_positions = CPU_BATCH_POSITIONS  # largest number of source positions, each counted once per hypothesis
    fewest_positions = 1  # a shorter source takes as much memory as one of so many positions

    def batch_size(self, longest: int, config: SearchConfig, count: int = 1) -> int:
        """Return the largest number of rows of a call of `find`; long sentences take more memory for each hypothesis.

        Args:
            longest: tokens of the longest row, without EOS.
            config: the search settings.
            count: number of hypotheses per row.
        """
        width = max(count, config.beam_size) if config.method == "beam" else count
        row_positions = width * max(longest + 1, self.fewest_positions)
        largest_batch = (config.batch_size or self.batch_rows) * self.batches_at_once
        fitting_rows = self.batch_positions * self.batches_at_once // row_positions
        return min(largest_batch, max(1, fitting_rows))

    @abstractmethod
    def find(
        self,
        rows: Rows,
        config: SearchConfig,
        count: int = 1,
        prefixes: Rows | None = None,
        check: Check | None = None,
        *,
        scored: bool = True,
        no_doubles: bool = False,
    ) -> list[list[Hypothesis]]:
        """Return up to `count` hypotheses for each row, best first.

        Args:
            rows: source ids without EOS.
            config: the search settings.
            count: number of hypotheses per row.
            prefixes: for each row, the target ids that begin its hypotheses.
            check: called before each decoding step, or while few rows at a time are searched, if the engine does not
                expose its steps; an exception it raises ends the search.
            scored: False if only the tokens are needed; an engine may then skip exact scores.
            no_doubles: forbid that a token follows itself.

        Raises:
            ConfigError: the settings cannot give `count` hypotheses, or this engine does not support them.
            InputError: a row or a prefix exceeds the model's positions.
        """

    @abstractmethod
    def score(self, rows: Rows, targets: Rows) -> list[Hypothesis]:
        """Return the log-probabilities of each target as the translation of its row (teacher forcing, EOS included).

        Rows have no EOS, targets neither SOS nor EOS. Raises InputError: a side exceeds the model's positions.
        """

    def cross_attention(self, rows: Rows, labels: Rows) -> list[npt.NDArray[np.float32]]:
        """Return attention weights (T, S) for each row, from T labels to S source tokens; they sum to 1 per label.

        Rows have no EOS, but S includes it. Labels have no SOS, and end in EOS if finished.

        Raises InputError: the engine gives no attention.
        """
        raise InputError(
            f"the {self.name} engine gives no attention, which attention maps and alignments need; use --engine torch"
        )
