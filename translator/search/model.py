"""What a search needs of a model; anything that has it can be searched, also a table of known probabilities.

B sentences, W rows for each of them in a run, R = B * W rows, S source length, T target length, V vocabulary
"""

from typing import Protocol, TypeVar

from torch import Tensor


class SearchState(Protocol):
    """What a model remembers of the rows of a search between two steps."""

    def select(self, rows: Tensor) -> None:
        """Reorder, repeat and drop rows: row i becomes what row `rows[i]` was.

        Args:
            rows: (R',) int64, R' a multiple of W; each run of W comes from the rows of one sentence, and sentences keep
                their order.
        """


State = TypeVar("State", bound=SearchState)


class SearchModel(Protocol[State]):
    """A model that tells the next token's probabilities, one step at a time."""

    @property
    def max_positions(self) -> int:
        """Steps that it can take at most."""

    def start(self, source: Tensor, width: int = 1) -> State:
        """Return the state before the first step, for `source` (B, S) int64 and `width` = W rows a sentence."""

    def step(self, tokens: Tensor, cache: State, /) -> Tensor:
        """Take in `tokens` (R,) int64, SOS first, and return the logits (R, V) of the tokens that follow."""


class TeacherForcedModel(Protocol):
    """A model that tells the probabilities of all tokens of given targets at once."""

    def __call__(self, source: Tensor, target_input: Tensor, /) -> Tensor:
        """Return the logits (B, T, V) of the tokens that follow each of `target_input` (B, T), SOS first."""


class TranslationModel(SearchModel[State], TeacherForcedModel, Protocol[State]):
    """A model that can be searched, and that can score what is there already."""
