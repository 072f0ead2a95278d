"""What a search engine offers. T target length, S source length"""

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from translator.config import SearchConfig
from translator.errors import InputError
from translator.search.hypothesis import Hypothesis, Rows

Check = Callable[[], None]


class Searcher(ABC):
    """A search engine: source ids in, hypotheses out. Several threads may call one at the same time."""

    name: str  # what computes: `torch`, `ctranslate2`
    arithmetic: str  # device and precision of its products; another one may give other translations
    max_positions: int  # longest sequence of either side that the model knows, EOS or SOS included
    gives_attention = False
    on_one_core = False  # whether several processes of one thread each translate faster than one process
    batches_at_once = 1  # how many times `search.batch_size` rows it takes, to divide them by itself

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
    ) -> list[list[Hypothesis]]:
        """Return up to `count` hypotheses for each row, best first.

        Args:
            rows: source ids without EOS.
            config: how hypotheses are searched.
            count: hypotheses wanted for each row.
            prefixes: for each row the target ids that its hypotheses begin with.
            check: called before each decoding step, where the engine sees its steps; what it raises ends the search.
            scored: False where only the tokens are wanted: an engine may then leave out work for exact scores.

        Raises:
            ConfigError: the settings cannot give so many hypotheses, or this engine does not have them.
            InputError: a row or a prefix is longer than the model knows.
        """

    @abstractmethod
    def score(self, rows: Rows, targets: Rows) -> list[Hypothesis]:
        """Return the log-probabilities of each target as the translation of its row (teacher forcing, EOS included).

        Rows have no EOS, targets neither SOS nor EOS. An InputError says that a side is longer than the model knows.
        """

    def cross_attention(self, rows: Rows, labels: Rows) -> list[npt.NDArray[np.float32]]:
        """Return (T, S) weights for each row: from each of its T labels to its S source tokens, which sum to 1.

        Rows have no EOS, which counts in S; labels have no SOS, and EOS where it was produced. InputError: it has none.
        """
        raise InputError(
            f"the engine {self.name} gives no attention, which attention maps and alignments are made from; use "
            "--engine torch"
        )
