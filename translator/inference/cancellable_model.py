"""A model whose search can be ended between two steps, by a server whose caller is gone, say."""

from collections.abc import Callable
from typing import Generic, TypeVar

from torch import Tensor

from translator.search import SearchModel
from translator.search.model import SearchState

State = TypeVar("State", bound=SearchState)


class CancellableModel(Generic[State]):
    """Calls `check` before each step of a model; what it raises ends the search.

    Args:
        model: computes the steps.
        check: called by the thread that searches.
    """

    def __init__(self, model: SearchModel[State], check: Callable[[], None]) -> None:
        self._model = model
        self._check = check

    @property
    def max_positions(self) -> int:
        """Steps that the model can take at most."""
        return self._model.max_positions

    def start(self, source: Tensor, width: int = 1) -> State:
        """Return the model's state before the first step, for `source` (B, S) int64 and `width` rows a sentence."""
        return self._model.start(source, width)

    def step(self, tokens: Tensor, cache: State, /) -> Tensor:
        """Take in `tokens` (R,) int64 and return the model's logits (R, V)."""
        self._check()
        return self._model.step(tokens, cache)
