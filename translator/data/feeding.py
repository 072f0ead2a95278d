"""Feeding: items that a thread or another process produces ahead of the consumer.

A loop that launches kernels on a GPU shares Python's interpreter lock with every other thread. So the batches of a GPU
are planned and collated in a process of their own; a thread only receives them (docs/decisions.md).
"""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor, wait
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Final, TypeVar

from translator.errors import RunError
from translator.run.signals import STOP_SIGNALS
from translator.run.workers import GUARDED, picklable_error, stop_signals_blocked

Item = TypeVar("Item")
Check = Callable[[], None]  # called periodically during long work; may raise to stop it

_POLL: Final = 0.1  # seconds between two calls of a check while waiting
_SWITCH_INTERVAL: Final = 0.0002  # seconds; a send takes the lock ten times, and Python's 5 ms would add up
_GRACE: Final = 5.0  # seconds that the other process has to clean up after the consumer


class _UnwantedError(Exception):
    """Ends work whose result is no longer needed."""


def read_ahead(
    items: Callable[[Check], Generator[Item, None, None]], check: Check = lambda: None, depth: int = 2
) -> Generator[Item, None, None]:
    """Yield the items of `items`, which a thread produces ahead; close the iterator to end the thread.

    An error of `items` is raised after all items before it.

    Args:
        items: called once, with a check to call in long work; the check raises when no more items are needed.
        check: called by the consumer while it waits, about ten times per second.
        depth: maximum number of items produced ahead, including the item in progress; at least 1.
    """
    closed = threading.Event()

    def check_wanted() -> None:
        if closed.is_set():
            raise _UnwantedError

    source = items(check_wanted)
    executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reading ahead")
    waiting = deque(executor.submit(next, source, None) for _ in range(depth))
    try:
        while True:
            check()
            if not wait([waiting[0]], timeout=_POLL).done:
                continue
            check()  # a stop signal may be the reason why the item failed
            item = waiting.popleft().result()
            if item is None:
                return
            waiting.append(executor.submit(next, source, None))
            yield item
    finally:
        closed.set()
        executor.shutdown(cancel_futures=True)
        source.close()


def from_another_process(
    items: Callable[[Check], Generator[Item, None, None]], check: Check = lambda: None
) -> Generator[Item, None, None]:
    """Yield the items of `items`, which another process produces; close the iterator to end that process.

    An error of `items` is raised after all items before it.

    Args:
        items: called once, in the other process; it and its items are pickled. Its check is that of `read_ahead`.
        check: called while no item is ready, about ten times per second.

    Raises RunError: the other process was killed, or could not start.
    """
    # Not forked: this process has threads and a GPU, which do not survive a fork.
    context = multiprocessing.get_context("spawn")
    connection, their_connection = context.Pipe()
    process = context.Process(target=_produce, args=(items, their_connection), name="feeding")
    try:
        with stop_signals_blocked():
            process.start()
    except OSError as refusal:
        raise RunError(
            f"cannot start the process that reads the training text ({refusal}); the system's limit of processes or "
            "memory may be reached: close other programs"
        ) from refusal
    their_connection.close()
    try:
        while True:
            while not connection.poll(_POLL):
                check()
            item, error = _receive(connection, process)
            if error is not None:
                raise error
            if item is None:
                return
            yield item
    finally:
        connection.close()  # ends the other process
        process.join()


def _receive(connection: Connection, process: BaseProcess) -> tuple[Any, Exception | None]:
    """Return the next item, or None after the last one, and the error of the other process.

    Raises RunError: the other process was killed.
    """
    try:
        item, error = connection.recv()
    except (EOFError, OSError) as lost:  # OSError: killed in the middle of an item
        process.join()
        message = f"the process that reads the training text could not go on ({GUARDED})"
        if process.exitcode == -signal.SIGKILL:
            message = (
                "the process that reads the training text was killed; if nobody stopped it, memory may have run out"
            )
        raise RunError(f"{message}; the last checkpoint is intact, and the same command resumes from it") from lost
    return item, error


def _produce(items: Callable[[Check], Generator[Item, None, None]], connection: Connection) -> None:
    """Send all items of `items`; end when the consumer closes its end of `connection` or dies."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    # The thread that plans an epoch must not keep the one that sends batches waiting for the interpreter lock.
    sys.setswitchinterval(_SWITCH_INTERVAL)
    closed = threading.Event()
    threading.Thread(target=_watch, args=(connection, closed), daemon=True).start()

    def check_wanted() -> None:
        if closed.is_set():
            raise _UnwantedError

    with contextlib.suppress(ConnectionError, _UnwantedError), contextlib.closing(items(check_wanted)) as source:
        try:
            for item in source:
                connection.send((item, None))
            connection.send((None, None))
        except (ConnectionError, _UnwantedError):
            raise
        except Exception as error:  # noqa: BLE001 - the consumer raises it
            connection.send((None, picklable_error(error, "the process that reads the training text")))


def _watch(connection: Connection, closed: threading.Event) -> None:
    """Set `closed` when the consumer has closed its end or died; end the process if it does not end soon."""
    connection.poll(None)  # the consumer sends nothing, so this returns at the end only
    closed.set()
    time.sleep(_GRACE)
    os._exit(1)
