"""Work distributed over processes; results keep the order of the items for any number of processes."""

import contextlib
import gc
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from multiprocessing import resource_tracker
from typing import Any, Final, TypeVar

from translator.errors import StorageError
from translator.run.signals import STOP_SIGNALS

Item = TypeVar("Item")
Result = TypeVar("Result")

_AHEAD: Final = 2  # items submitted ahead per process, to keep it busy at constant memory
_WORTH_WHILE: Final = 4 << 20  # bytes of input; below this, starting processes takes longer than it saves
_OBJECTS_BETWEEN_COLLECTIONS: Final = 200_000  # hundreds of times Python's default
GUARDED: Final = "your script must start its work under `if __name__ == '__main__':`"


def available_cores() -> int:
    """Return the number of cores that this process may use, by its affinity."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processes_for(setting: int, bytes_of_work: int) -> int:
    """Return the number of processes for `corpus.workers: setting`; 0: one per core, or one for little work."""
    return setting or (available_cores() if bytes_of_work >= _WORTH_WHILE else 1)


def map_in_order(
    setup: Callable[[], Callable[[Item], Result]], items: Iterable[Item], processes: int
) -> Generator[Result, None, None]:
    """Yield `setup()(item)` for each item, in order; one process means the current one.

    Each process calls `setup` once. `setup`, items and results are pickled. A few items are read ahead. If the caller
    stops early, pending items are dropped. An error in the work on an item is raised in place of its result.

    Args:
        setup: makes the function that works on an item.
        items: are read in the current process.
        processes: maximum number of processes.

    Raises StorageError: a process was killed or could not start.
    """
    if processes <= 1:
        yield from map(setup(), items)
        return
    # The results in the order of their items. Few items are submitted ahead, so a slow consumer fills no memory.
    pending_results: deque[Future[Result]] = deque()
    with contextlib.closing(WorkerPool(setup, processes)) as pool:
        for item in items:
            pending_results.append(pool.submit(item))
            if len(pending_results) > _AHEAD * processes:
                yield result_of(pending_results.popleft())
        while pending_results:
            yield result_of(pending_results.popleft())


def result_of(future: Future[Result]) -> Result:
    """Return the result of an item of a `WorkerPool`; raise its error, or StorageError if its process was killed."""
    try:
        return future.result()
    except BrokenExecutor as error:
        raise StorageError(
            "a worker process was killed; if nobody stopped it, memory may have run out: set `corpus.workers: 1`, or "
            f"`search.processes: 1` to translate, or close other programs ({GUARDED})"
        ) from error


class WorkerPool:
    """Processes that each call `setup` once, and then work on items; close it after use.

    `niceness` lowers their priority.
    """

    def __init__(self, setup: Callable[[], Callable[[Any], Any]], processes: int, niceness: int = 0) -> None:
        # Not forked: this process may have threads (torch, TensorBoard), which do not survive a fork.
        context = multiprocessing.get_context("spawn")
        self._executor = ProcessPoolExecutor(processes, context, _begin, (setup, niceness))

    def submit(self, item: Any) -> Future[Any]:
        """Return the future result of `item`; start a process for it if more are allowed."""
        try:
            with _stop_signals_blocked():
                return self._executor.submit(_work, item)
        except OSError as error:
            raise StorageError(
                f"cannot start a worker process ({error}); the system's limit of processes or memory may be reached: "
                "set `corpus.workers: 1`, or close other programs"
            ) from error

    def close(self) -> None:
        """End all processes at once."""
        executor: Any = self._executor  # `kill_workers` of Python 3.14 leaves the ends of its queues open
        process_was_killed = executor._broken  # then the executor ends the other processes itself
        if not process_was_killed:
            # A killed process may have sent half a result, or received half an item. Without these ends of its queues,
            # no thread of this process is blocked by the other half.
            executor._result_queue._writer.close()
            executor._call_queue._reader.close()
            for process in list((executor._processes or {}).values()):
                process.kill()
        executor.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _stop_signals_blocked() -> Iterator[None]:
    """Block stop signals while a process starts, which inherits the block: a terminal sends them to all processes."""
    resource_tracker.ensure_running()  # its start unblocks the signals, so it comes first
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# --- in a worker process ---

_setups: Final[list[Callable[[], Callable[[Any], Any]]]] = []  # one, from the start of this process
_functions: Final[list[Callable[[Any], Any]]] = []  # the one that it made, from the first item on


def _begin(setup: Callable[[], Callable[[Any], Any]], niceness: int) -> None:
    """Prepare a worker process: it ignores stop signals, and ends when its parent does."""
    # A terminal sends its signals to all processes; the parent alone decides what they mean.
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    os.nice(niceness)
    # Items are thousands of small objects without cycles; to look for cycles took 8% of the time of cleaning.
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_after, args=(parent,), daemon=True).start()
    _setups.append(setup)


def _end_after(parent: Any) -> None:
    """End this process when `parent` has ended."""
    parent.join()
    os._exit(1)


def _work(item: Any) -> Any:
    """Return the result of an item; an error of `setup` is one of the first item."""
    if not _functions:
        _functions.append(_setups[0]())
    return _functions[0](item)
