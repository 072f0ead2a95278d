"""Work spread over processes, with results in the order of the work: the result does not depend on their number."""

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

_AHEAD: Final = 2  # items handed out ahead for each process: enough to keep it busy, few enough to keep memory flat
_WORTH_WHILE: Final = 4 << 20  # bytes of files below which starting processes takes longer than they save
_GUARDED: Final = "a script of your own must start its work under `if __name__ == '__main__':`"


def available_cores() -> int:
    """Return the number of cores that this process may use, by its affinity."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Neighbours:
    """Other programs on the cores of this process; processes that gave way by `nice` do not count."""

    def __init__(self) -> None:
        self._before = _seconds()

    def cores_taken(self) -> float:
        """Return how many cores they used on average since the last call; 0 where the system does not say."""
        (began, others_before), self._before = self._before, _seconds()
        now, others = self._before
        return max(0.0, others - others_before) / max(0.01, now - began)


def _seconds() -> tuple[float, float]:
    """Return the time, and the seconds that others have computed on the cores of this process, up to a constant."""
    own, ticks = os.times(), 0
    with contextlib.suppress(OSError, ValueError, AttributeError):
        cores = {f"cpu{number}" for number in os.sched_getaffinity(0)}
        rows = (line.split() for line in Path("/proc/stat").read_text(encoding="ascii").splitlines())
        ticks = sum(int(row[1]) + int(row[3]) for row in rows if row[0] in cores)  # in the user's and in system mode
    return time.monotonic(), ticks / os.sysconf("SC_CLK_TCK") - own.user - own.system if ticks else 0.0


def processes_for(setting: int, bytes_of_work: int) -> int:
    """Return the number of processes for `corpus.workers: setting`; 0: one per core, and one for little work."""
    return setting or (available_cores() if bytes_of_work >= _WORTH_WHILE else 1)


def refuse_in_starting_process() -> None:
    """Raise a `StorageError` in a process that runs its parent's script again while it starts."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise StorageError(_GUARDED)


def map_in_order(
    setup: Callable[[], Callable[[Item], Result]], items: Iterable[Item], processes: int
) -> Generator[Result, None, None]:
    """Yield `setup()(item)` for each item, in order; with one process all is done in this one.

    Each process calls `setup` once. It, the items and the results are pickled. Items are taken a few ahead. A caller
    that stops early does not wait for the items under way. What the work raises comes out at the place of its item.
    """
    if processes <= 1:
        yield from map(setup(), items)
        return
    # Not forked: this process may have threads (torch, TensorBoard), and those do not survive a fork.
    context = multiprocessing.get_context("spawn")
    theirs, ours = context.Pipe(duplex=False)
    executor = ProcessPoolExecutor(processes, context, _start, (setup, theirs))
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
            "a worker process was killed, most likely because memory ran out; set `corpus.workers: 1`, or "
            f"close other programs ({_GUARDED})"
        ) from error
    finally:
        ours.close()
        executor.shutdown(cancel_futures=True)
        theirs.close()


_setup: Callable[[], Callable[[Any], Any]]
_function: Callable[[Any], Any] | None = None


def _start(setup: Callable[[], Callable[[Any], Any]], pipe: Connection) -> None:
    """Prepare a worker process that leaves Ctrl-C to its parent, and ends when its parent closes the pipe or dies."""
    global _setup
    _setup = setup
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=lambda: (pipe.poll(None), os._exit(1)), daemon=True).start()


def _work(item: Any) -> Any:
    """Do one item in a worker process; what `setup` raises is raised at the place of the first item."""
    global _function
    _function = _function or _setup()
    return _function(item)
