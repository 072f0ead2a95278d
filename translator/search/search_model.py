"""What a search needs from a model: next-token logits, one step at a time.

B sentences, W rows of each sentence, R = B * W rows, S source length, V vocabulary
"""

from typing import Protocol, TypeVar

from torch import Tensor


class SearchState(Protocol):
    """The state of a model between two steps of a search, one entry per row."""

    def select(self, rows: Tensor) -> None:
        """Reorder, repeat and drop rows: row i becomes what row `rows[i]` was.

        Args:
            rows: (R',) int64, where R' is a multiple of W. Each run of W comes from the rows of one sentence, and
                sentences keep their order.
        """


State = TypeVar("State", bound=SearchState)


class SearchModel(Protocol[State]):
    """The interface of a model to search, such as `Transformer`."""

    @property
    def max_positions(self) -> int:
        """The maximum number of steps."""

    def start(self, source: Tensor, width: int = 1) -> State:
        """Return the state before the first step.

        Args:
            source: (B, S) int64 ids, each row ended by EOS and padded with PAD.
            width: W, the rows of the state for each sentence.
        """

    def step(self, tokens: Tensor, cache: State, /) -> Tensor:
        """Return the logits (R, V) of the tokens after `tokens`, and advance `cache`.

        Args:
            tokens: (R,) int64, the last token of each row; SOS at the first step.
            cache: the state before this step.
        """
