"""A function compiled by torch, for batches of any shape: counted, limited, and run as it is where that fails."""

import contextlib
import logging
from collections.abc import Callable
from typing import Any, Final, Generic, ParamSpec, TypeVar

import torch
from torch import Tensor

LOGGER = logging.getLogger("translator")

P = ParamSpec("P")
Result = TypeVar("Result")

_LIMIT: Final = 8
"""Compilations of one function; more mean that its code is not as general as it should be."""


class Compiled(Generic[P, Result]):
    """A function that torch compiles at its first calls.

    What cannot be compiled, or only too often, runs as it is; the log says so once.

    Args:
        function: or module; it takes and returns tensors.
        backend: of `torch.compile`.
        limit: compilations at most; a shape that would take one more is computed without.
    """

    def __init__(
        self,
        function: Callable[P, Result],
        *,
        backend: str | Callable[..., Any] = "inductor",
        limit: int = _LIMIT,
    ) -> None:
        # They take a second to load, and most programs never compile.
        import torch._dynamo.config
        from torch._dynamo.exc import TorchDynamoException

        self._function = function
        self._limit = limit
        self._errors = TorchDynamoException
        settings = torch._dynamo.config
        settings.recompile_limit = max(settings.recompile_limit, self._limit + 1)  # ours comes first
        self._compiled: Callable[P, Result] | None = torch.compile(function, backend=backend, dynamic=True)
        self.compilations = 0
        """Pieces of code compiled so far, here and by whatever else compiled during a call."""

    @property
    def given_up(self) -> bool:
        """Whether everything is computed as it is, because compiling failed."""
        return self._compiled is None

    def __call__(self, *arguments: P.args, **named: P.kwargs) -> Result:
        """Return what the function returns."""
        if self._compiled is None:
            return self._function(*arguments, **named)
        _take_any_size([*arguments, *named.values()])
        before = _graphs()
        try:
            with self._within_limit():
                return self._compiled(*arguments, **named)
        except self._errors as error:
            self.give_up(error)
        finally:
            self._count(_graphs() - before)
        return self._function(*arguments, **named)

    def give_up(self, error: BaseException) -> None:
        """Compute everything as it is from now on; for an error of torch's compiler, also in the backward pass."""
        if self._compiled is not None:
            self._compiled = None
            complaint = " ".join(str(error).split())[:300]
            LOGGER.warning(
                f"torch.compile failed ({type(error).__name__}: {complaint}); training goes on without it; "
                "training.compile=never skips the attempt"
            )

    def _within_limit(self) -> contextlib.AbstractContextManager[object]:
        """Return the context of a call: once there were enough compilations, new shapes are computed without."""
        if self.compilations < self._limit:
            return contextlib.nullcontext()
        known_shapes: contextlib.AbstractContextManager[object] = torch.compiler.set_stance("eager_on_recompile")
        return known_shapes

    def _count(self, compiled: int) -> None:
        below = self.compilations < self._limit
        self.compilations += compiled
        if below and self.compilations >= self._limit:
            LOGGER.warning(
                f"torch.compile has compiled {self.compilations} pieces of code, which is enough: batches of a new "
                "shape are computed without it from now on"
            )


def _graphs() -> int:
    """Return how many pieces of code torch has compiled in this process."""
    from torch._dynamo.utils import counters

    return counters["stats"]["unique_graphs"]


def _take_any_size(values: list[Any]) -> None:
    """Tell the compiler that the sizes of integer tensors vary, each by itself.

    Else it would take two sizes that are equal by chance at the first call for one, and compile again later.
    """
    from torch._dynamo import maybe_mark_dynamic

    for value in values:
        if isinstance(value, Tensor) and not value.is_floating_point():
            for dimension, size in enumerate(value.shape):
                if size > 1:
                    maybe_mark_dynamic(value, dimension)
