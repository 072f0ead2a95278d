"""Work for two processes, done in this one: processes take seconds to start."""

from collections.abc import Callable, Generator, Iterable
from multiprocessing.reduction import ForkingPickler
from typing import Any


def map_in_two_processes(
    setup: Callable[[], Callable[[Any], Any]], items: Iterable[Any], processes: int
) -> Generator[Any, None, None]:
    """Stand in for `map_in_order`: pickle the work, each item and each result, as on the way to another process."""
    assert processes == 2
    work = ForkingPickler.loads(ForkingPickler.dumps(setup))()
    for item in items:
        result = work(ForkingPickler.loads(ForkingPickler.dumps(item)))
        yield ForkingPickler.loads(ForkingPickler.dumps(result))
