"""How long each stage of a long piece of work took, for whoever asks."""

import contextlib
import time
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Stage:
    """One stage that is done."""

    name: str
    seconds: float


_collected: Final[ContextVar[list[Stage] | None]] = ContextVar("stages", default=None)


@contextlib.contextmanager
def stage(name: str) -> Iterator[None]:
    """Time the block as the stage `name`, for the innermost `collect_stages` around it."""
    began = time.perf_counter()
    yield
    stages = _collected.get()
    if stages is not None:
        stages.append(Stage(name, time.perf_counter() - began))


@contextlib.contextmanager
def collect_stages() -> Iterator[list[Stage]]:
    """Yield the list to which every stage that ends inside the block is added, in the order of their ends."""
    stages: list[Stage] = []
    token = _collected.set(stages)
    try:
        yield stages
    finally:
        _collected.reset(token)
