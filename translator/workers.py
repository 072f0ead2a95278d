"""Work spread over processes, with results in the order of the work: what comes out does not depend on how many."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import Any, Final, TypeVar

from translator.errors import StorageError

Item = TypeVar("Item")
Result = TypeVar("Result")

_WAITING: Final = 2
"""Items handed out ahead for each process: enough that none waits, few enough that memory stays flat."""

_WORTH_WHILE: Final = 4 << 20
"""Bytes of files below which starting processes takes longer than they save (about a second each)."""

_function: Callable[[Any], Any]
"""Of a worker process: what it does to each item."""


def available_cores() -> int:
    """Return the number of cores that this process may use, by its affinity; the quota of a cgroup is not counted."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processes_for(setting: int, bytes_of_work: int) -> int:
    """Return the number of processes for `corpus.workers: setting`; 0 is one a core, and just one for little work."""
    if setting:
        return setting
    return available_cores() if bytes_of_work >= _WORTH_WHILE else 1


def refuse_in_starting_process() -> None:
    """Stop a worker that runs its parent's script again while it starts, before it waits for its parent for ever.

    Raises:
        StorageError: this is such a process.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise StorageError("this script must start its work under `if __name__ == '__main__':`")


def map_in_order(
    setup: Callable[[], Callable[[Item], Result]], items: Iterable[Item], processes: int
) -> Generator[Result, None, None]:
    """Yield `setup()(item)` for each item, in order; with one process all is done in this one.

    Args:
        setup: called once in each process; it returns the function that does the work. It, the items and the results
            are pickled, so `setup` is a function or a class of a module, or a `functools.partial` of one.
        items: taken a few ahead of what is yielded, never all at once.
        processes: how many work side by side.

    Raises:
        StorageError: a process was killed, most likely because memory ran out.
        Exception: whatever the work raises, at the place of its item.

    Whoever stops taking results early, or is stopped by an error, does not wait for the items under way.
    """
    if processes <= 1:
        yield from map(setup(), items)
        return
    # Not forked: this process may have threads (torch, TensorBoard), and those do not survive a fork.
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(processes, context, initializer=_start, initargs=(setup,))
    ended = False
    try:
        waiting: deque[Future[Result]] = deque()
        for item in items:
            waiting.append(executor.submit(_work, item))
            if len(waiting) > _WAITING * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
        ended = True
    except BrokenProcessPool as error:
        raise StorageError(
            "a worker process was killed, most likely because memory ran out; set `corpus.workers: 1`, or "
            "close other programs (a script of your own must start its work under `if __name__ == '__main__':`)"
        ) from error
    finally:
        if not ended:
            _end_at_once(executor)
        executor.shutdown(wait=True)


def _end_at_once(executor: Any) -> None:
    """Kill the processes of `executor` in the middle of their items, for which it has no public way before Python 3.14.

    Nothing is cancelled: its thread, which finds the processes dead, gives up all futures, and trips over a cancelled
    one.
    """
    # Half a result may be on its way; with no writer left, the thread that reads it does not wait for the other half.
    executor._result_queue._writer.close()
    for process in list(executor._processes.values()):
        process.kill()


def _start(setup: Callable[[], Callable[[Any], Any]]) -> None:
    """Make a new process ready: it leaves Ctrl-C to its parent, and ends with it, however that ends."""
    global _function
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    try:
        _function = setup()
    except Exception as error:  # noqa: BLE001  # told by the first item, as if this process were not there
        _function = partial(_fail, error)


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)


def _fail(error: Exception, item: Any) -> Any:
    raise error


def _work(item: Any) -> Any:
    return _function(item)
