"""Work distributed over processes; results keep the order of the items for any number of processes."""

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, TypeVar

from translator.errors import StorageError

Item = TypeVar("Item")
Result = TypeVar("Result")

_AHEAD: Final = 2  # items submitted ahead per process, to keep it busy at constant memory
_WORTH_WHILE: Final = 4 << 20  # bytes of input; below this, starting processes takes longer than it saves
GUARDED: Final = "your script must start its work under `if __name__ == '__main__':`"


def available_cores() -> int:
    """Return the number of cores that this process may use, by its affinity."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Neighbours:
    """Load of other programs on the cores of this process, except programs started with `nice`."""

    def __init__(self) -> None:
        self._before = _seconds()

    def cores_taken(self) -> float:
        """Return how many cores they used on average since the last call; 0 if unknown."""
        (began, others_before), self._before = self._before, _seconds()
        now, others = self._before
        return max(0.0, others - others_before) / max(0.01, now - began)


def _seconds() -> tuple[float, float]:
    """Return the time, and the CPU seconds of others on the cores of this process, up to a constant."""
    own, ticks = os.times(), 0
    with contextlib.suppress(OSError, ValueError, AttributeError):
        cores = {f"cpu{number}" for number in os.sched_getaffinity(0)}
        rows = (line.split() for line in Path("/proc/stat").read_text(encoding="ascii").splitlines())
        ticks = sum(int(row[1]) + int(row[3]) for row in rows if row[0] in cores)  # user and system time
    return time.monotonic(), ticks / os.sysconf("SC_CLK_TCK") - own.user - own.system if ticks else 0.0


def processes_for(setting: int, bytes_of_work: int) -> int:
    """Return the number of processes for `corpus.workers: setting`; 0: one per core, or one for little work."""
    return setting or (available_cores() if bytes_of_work >= _WORTH_WHILE else 1)


def refuse_in_starting_process() -> None:
    """Raise `StorageError` in a worker process that runs the script of its parent again."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise StorageError(GUARDED)


def map_in_order(
    setup: Callable[[], Callable[[Item], Result]], items: Iterable[Item], processes: int, niceness: int = 0
) -> Generator[Result, None, None]:
    """Yield `setup()(item)` for each item, in order; one process means the current one.

    Other processes than the current one run with a priority lowered by `niceness`.

    Each process calls `setup` once. `setup`, items and results are pickled. A few items are read ahead. A caller that
    stops early does not wait for pending items. An error of an item is raised at its position.
    """
    if processes <= 1:
        yield from map(setup(), items)
        return
    # Not forked: this process may have threads (torch, TensorBoard), which do not survive a fork.
    context = multiprocessing.get_context("spawn")
    theirs, ours = context.Pipe(duplex=False)
    executor = ProcessPoolExecutor(processes, context, _start, (setup, theirs, niceness))
    waiting: deque[Future[Any]] = deque()
    try:
        for item in items:
            waiting.append(executor.submit(_work, item))
            if len(waiting) > _AHEAD * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool as error:
        raise StorageError(
            "a worker process was killed; if nobody stopped it, memory may have run out: set `corpus.workers: 1`, or "
            f"close other programs ({GUARDED})"
        ) from error
    finally:
        ours.close()  # ends the workers
        # A worker may end in the middle of a result. The executor would wait for the rest of it forever, because its
        # own end for writing, which nothing uses, keeps the pipe open.
        executor._result_queue._writer.close()  # type: ignore[attr-defined]
        executor.shutdown(cancel_futures=True)
        theirs.close()


_setup: Callable[[], Callable[[Any], Any]]
_function: Callable[[Any], Any] | None = None


def _start(setup: Callable[[], Callable[[Any], Any]], pipe: Connection, niceness: int) -> None:
    """Initialize a worker that ignores Ctrl-C and ends when its parent closes the pipe or dies."""
    global _setup
    _setup = setup
    if niceness:
        os.nice(niceness)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=lambda: (pipe.poll(None), os._exit(1)), daemon=True).start()


def _work(item: Any) -> Any:
    """Process one item in a worker; an error of `setup` is raised at the first item."""
    global _function
    _function = _function or _setup()
    return _function(item)
