"""Work distributed over processes; results keep the order of the items for any number of processes."""

import atexit
import contextlib
import gc
import multiprocessing
import os
import queue
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
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


def refuse_in_starting_process() -> None:
    """Raise `StorageError` in a worker process that runs the script of its parent again."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise StorageError(GUARDED)


def map_in_order(
    setup: Callable[[], Callable[[Item], Result]], items: Iterable[Item], processes: int, niceness: int = 0
) -> Generator[Result, None, None]:
    """Yield `setup()(item)` for each item, in order; one process means the current one.

    Each process calls `setup` once. `setup`, items and results are pickled. A few items are read ahead. A caller that
    stops early does not wait for pending items. An error of an item is raised at its position.

    Args:
        setup: makes the function that works on an item.
        items: are read in the current process.
        processes: maximum number of processes.
        niceness: lowers the priority of other processes than the current one.

    Raises StorageError: a process was killed or could not start.
    """
    if processes <= 1:
        yield from map(setup(), items)
        return
    pool = WorkerPool(setup, processes, niceness)
    # Results are taken in the order of their items. Few items are ahead, so a slow consumer fills no memory.
    waiting: deque[Future[Result]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(item))
            if len(waiting) > _AHEAD * processes:
                yield result_of(waiting.popleft())
        while waiting:
            yield result_of(waiting.popleft())
    finally:
        pool.close()


def result_of(future: Future[Result]) -> Result:
    """Return the result of an item of a `WorkerPool`; raise its error, or StorageError if its process was killed."""
    try:
        return future.result()
    except BrokenExecutor as error:
        raise StorageError(
            "a worker process was killed; if nobody stopped it, memory may have run out: set `corpus.workers: 1`, or "
            f"close other programs ({GUARDED})"
        ) from error


class WorkerPool:
    """Processes with a pipe and a thread each; close it after use.

    A queue that they share would have a lock, and a process that is killed with the lock, or in the middle of a result,
    would make all others wait forever. Locks between processes also need a writable /dev/shm.
    """

    def __init__(self, setup: Callable[[], Callable[[Any], Any]], processes: int, niceness: int) -> None:
        self._setup = setup
        self._niceness = niceness
        self._workers: list[_Worker] = []
        self._idle_workers: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        self._processes = processes
        self._threads = ThreadPoolExecutor(processes, thread_name_prefix="worker")
        # It closes when this process ends, however it ends.
        self._lifeline_end, self._lifeline = multiprocessing.get_context("spawn").Pipe(duplex=False)
        atexit.register(self.close)

    def submit(self, item: Any) -> Future[Any]:
        """Return the future result of `item`; start a process for it if more are allowed."""
        try:
            # Processes start one by one with the items, so that little work starts few of them.
            if len(self._workers) < self._processes:
                worker = _Worker(self._setup, self._lifeline_end, self._niceness)
                self._workers.append(worker)
                self._idle_workers.put(worker)
            return self._threads.submit(self._work, item)
        except (OSError, RuntimeError) as error:  # RuntimeError: of a thread
            raise StorageError(
                f"cannot start a worker process ({error}); the system's limit of processes or memory may be reached: "
                "set `corpus.workers: 1`, or close other programs"
            ) from error

    def _work(self, item: Any) -> Any:
        worker = self._idle_workers.get()
        try:
            return worker.work(item)
        finally:
            self._idle_workers.put(worker)

    def close(self) -> None:
        """End all processes at once, and the threads that wait for them."""
        atexit.unregister(self.close)
        self._lifeline.close()
        for worker in self._workers:
            worker.process.kill()  # a library that holds the interpreter lock would not notice the closed pipe
        # A killed process closes its pipe, which wakes the thread that waits for it.
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.close()
        self._lifeline_end.close()


class _Worker:
    """A process that works on one item at a time; raises OSError if it cannot start."""

    def __init__(self, setup: Callable[[], Callable[[Any], Any]], lifeline_end: Connection, niceness: int) -> None:
        # Not forked: this process may have threads (torch, TensorBoard), which do not survive a fork.
        context = multiprocessing.get_context("spawn")
        self._connection, their_connection = context.Pipe()
        self.process = context.Process(target=_serve, args=(setup, their_connection, lifeline_end, niceness))
        try:
            with stop_signals_blocked():
                self.process.start()
        finally:
            their_connection.close()

    def work(self, item: Any) -> Any:
        """Return the result of `item` or raise its error; raise BrokenExecutor if the process was killed."""
        # An item that cannot be pickled is a mistake of the caller, not of the process, so it is pickled outside `try`.
        message = ForkingPickler.dumps(item)
        try:
            self._connection.send_bytes(message)
            reply = self._connection.recv_bytes()
        except (EOFError, OSError) as lost:  # OSError: in the middle of an item or a result
            raise BrokenExecutor("a worker process was killed") from lost
        result, error = ForkingPickler.loads(reply)
        if error is not None:
            raise error
        return result

    def close(self) -> None:
        """Wait for the end of the killed process."""
        self.process.join()
        self._connection.close()


@contextlib.contextmanager
def stop_signals_blocked() -> Iterator[None]:
    """Block stop signals while a process starts, until it ignores them itself: a terminal sends them to all."""
    resource_tracker.ensure_running()  # it unblocks the signals when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def picklable_error(error: Exception, place: str) -> Exception:
    """Return `error` with its traceback, in `place`, as a note; a RuntimeError with the same text if it has no pickle.

    Call it while `error` is handled.
    """
    text = traceback.format_exc()
    error.add_note(f"in {place}:\n{text}")
    try:
        ForkingPickler.loads(ForkingPickler.dumps(error))
    except Exception:  # noqa: BLE001 - errors of libraries fail in many ways
        return RuntimeError(text)
    return error


def _serve(
    setup: Callable[[], Callable[[Any], Any]], connection: Connection, lifeline_end: Connection, niceness: int
) -> None:
    """Work on the items of `connection`; ignore stop signals, and end when the parent closes the lifeline or dies."""
    # A terminal sends its signals to all processes; the parent alone decides what they mean.
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    if niceness:
        os.nice(niceness)
    # Items are thousands of small objects without cycles; to look for cycles took 8% of the time of cleaning.
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    # The lifeline wakes this thread even if the work of this process never ends.
    threading.Thread(target=lambda: (lifeline_end.poll(None), os._exit(1)), daemon=True).start()
    function: Callable[[Any], Any] | None = None
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            message = connection.recv_bytes()
            try:
                # An error of `setup` is one of the first item.
                function = function or setup()
                reply = ForkingPickler.dumps((function(ForkingPickler.loads(message)), None))
            except Exception as error:  # noqa: BLE001 - the parent raises it
                reply = ForkingPickler.dumps((None, picklable_error(error, "a worker process")))
            connection.send_bytes(reply)
