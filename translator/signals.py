"""Stopping on SIGINT, SIGTERM and SIGHUP: at once where nothing is at stake, after saving where something is.

A first signal raises `Interrupted` where the program stands, or is remembered until the next `check` inside `deferred`.
A second one raises wherever the program stands. Python runs a handler only between two of its own instructions, so a
long call into a library would keep a signal waiting; a thread that the system wakes at each signal ends the process
where the handler cannot. Nothing is half-written by that: files appear whole or not at all (translator/storage.py).
The exit code is 128 plus the number of the signal, whichever way the process ends.
"""

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Final

from translator.errors import Interrupted

STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE: Final = 5.0
"""Seconds that a first signal may wait for the program to end by itself where nothing is at stake."""
PATIENCE_AGAIN: Final = 1.0
"""The same for a second signal, wherever the program stands."""
_ONE_REQUEST: Final = 2.0
"""Seconds within which signals of unlike kind are one request: terminals and launchers send several at a time."""


class _Requests:
    """Tells a second request to stop from the signals that belong to the first."""

    def __init__(self) -> None:
        self._first: int | None = None
        self._began = 0.0

    def is_second(self, signal_number: int) -> bool:
        """Take in a signal that has just arrived; return whether it asks for the second time or more."""
        now = time.monotonic()
        if self._first is None:
            self._first, self._began = signal_number, now
            return False
        # A terminal that is closed may send SIGHUP twice, from the kernel and from the shell.
        pressed_again = signal_number == self._first and signal_number != signal.SIGHUP
        return pressed_again or now - self._began >= _ONE_REQUEST


class StopRequest:
    """Turns stop signals into `Interrupted`, now or at the next `check`.

    Outside `deferred` a signal raises where the program stands. Inside it is remembered until `check`, so that
    a training step is never torn apart. A second signal always raises at once.
    """

    def __init__(self) -> None:
        self._signal: int | None = None
        self._deferred = False
        self._requests = _Requests()

    def receive(self, signal_number: int, frame: FrameType | None = None) -> None:
        """Take note of a signal (the handler)."""
        first = self._signal is None
        again = self._requests.is_second(signal_number)
        if first or again:
            self._signal = signal_number
        if again or (first and not self._deferred):
            raise Interrupted(signal_number)

    @property
    def requested(self) -> bool:
        """Whether a signal has arrived."""
        return self._signal is not None

    @property
    def is_deferred(self) -> bool:
        """Whether the program stands inside `deferred`, and outside `immediate`."""
        return self._deferred

    def check(self) -> None:
        """Raise `Interrupted` if a signal has arrived."""
        if self._signal is not None:
            raise Interrupted(self._signal)

    @contextlib.contextmanager
    def deferred(self) -> Iterator[None]:
        """Hold signals back until `check`, inside the block."""
        with self._deferring(True):
            yield

    @contextlib.contextmanager
    def immediate(self) -> Iterator[None]:
        """Let signals raise where the program stands after all, for a stretch inside `deferred` that changes nothing.

        Raises:
            Interrupted: a signal has arrived, now or before.
        """
        with self._deferring(False):
            self.check()
            yield

    @contextlib.contextmanager
    def _deferring(self, value: bool) -> Iterator[None]:
        before = self._deferred
        self._deferred = value
        try:
            yield
        finally:
            self._deferred = before


class _Watcher:
    """A thread that ends the process when the main thread does not come to it."""

    def __init__(self, stop: StopRequest) -> None:
        self._stop = stop
        self._requests = _Requests()
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._writing, False)  # the system writes to it from inside a signal
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="signals", daemon=True)

    def start(self) -> int:
        """Begin; return the handle that the system is to write the number of each signal to."""
        self._thread.start()
        return self._writing

    def end(self) -> None:
        """Stop watching."""
        self._ended.set()
        with contextlib.suppress(BlockingIOError):  # it is full, so the thread is awake
            os.write(self._writing, b"\0")
        self._thread.join()
        os.close(self._reading)
        os.close(self._writing)

    def _watch(self) -> None:
        number, since, again = 0, 0.0, False
        while not self._ended.is_set():
            ready, _, _ = select.select([self._reading], [], [], 0.1 if number else None)
            now = time.monotonic()
            for arrived in os.read(self._reading, 512) if ready else b"":
                if arrived in STOP_SIGNALS:
                    second = self._requests.is_second(arrived)
                    if not number or (second and not again):
                        number, since, again = arrived, now, second
            if number and not again and self._stop.is_deferred:
                since = now  # something is at stake: it may take its time
            if number and now - since > (PATIENCE_AGAIN if again else PATIENCE) and not self._ended.is_set():
                _end_process(number)


def _end_process(signal_number: int) -> None:
    """Leave without a look back, with the exit code of the signal."""
    with contextlib.suppress(OSError, ValueError):
        if select.select([], [2], [], 0)[1]:  # a reader of standard error who has gone to sleep must not stop us
            line = "\n" if os.isatty(2) else ""  # at a terminal something may stand on the line already
            os.write(2, f"{line}translator: stopped at once by signal {signal_number}\n".encode())
    os._exit(128 + signal_number)


@contextlib.contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """Yield a `StopRequest` that SIGINT, SIGTERM and SIGHUP reach while the block runs.

    SIGHUP stays ignored under `nohup`. Python lets only the main thread set handlers; in any other thread the signals
    keep their usual effect.
    """
    stop = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    numbers = [
        number for number in STOP_SIGNALS if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN
    ]
    watcher = _Watcher(stop)
    previous_handle = signal.set_wakeup_fd(watcher.start(), warn_on_full_buffer=False)
    previous = {number: signal.signal(number, stop.receive) for number in numbers}
    try:
        yield stop
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(previous_handle)
        watcher.end()
