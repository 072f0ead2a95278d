"""Stopping on SIGINT, SIGTERM and SIGHUP: immediately, or after saving inside `deferred`.

A first signal raises `Interrupted` immediately, or at the next `check` inside `deferred`. A second one always raises
immediately. Python runs a handler only between two bytecode instructions, so a long library call delays it. A watcher
thread, which each signal wakes, then ends the process. No file is half-written, since files are replaced atomically
(run/storage.py).
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
# Seconds
PATIENCE: Final = 5.0  # to end after a first signal outside `deferred`, before the watcher ends the process
PATIENCE_AGAIN: Final = 1.0  # the same after a second signal, also inside `deferred`
_SECONDS_BETWEEN_LOOKS: Final = 0.1  # of the watcher, after a first signal
_ONE_REQUEST: Final = 2.0  # different signals within this time are one request: terminals and launchers send several


class _Requests:
    """Distinguishes a second request to stop from repeated signals of the first."""

    def __init__(self) -> None:
        self.number: int | None = None
        self.again = False
        self._began = 0.0

    def add(self, number: int) -> bool:
        """Register a signal; return whether it is a new request to stop."""
        now = time.monotonic()
        if self.number is None:
            self.number, self._began = number, now
            return True
        # A closing terminal may send SIGHUP twice, from the kernel and from the shell.
        pressed_again = number == self.number != signal.SIGHUP
        if pressed_again or now - self._began >= _ONE_REQUEST:
            self.number, self.again = number, True
            return True
        return False


class StopRequest:
    """Turns stop signals into `Interrupted`: immediately, or inside `deferred` at the next `check`.

    So an optimizer update is never interrupted. A second signal always raises immediately.
    """

    def __init__(self) -> None:
        self._requests = _Requests()
        self.is_deferred = False  # whether the program is inside `deferred`, and outside `immediate`

    def receive(self, number: int, frame: FrameType | None = None) -> None:
        """Handle a signal."""
        if self._requests.add(number) and (self._requests.again or not self.is_deferred):
            self.check()

    @property
    def requested(self) -> bool:
        """Whether a signal has arrived."""
        return self._requests.number is not None

    def check(self) -> None:
        """Raise `Interrupted` if a signal has arrived."""
        if self._requests.number is not None:
            raise Interrupted(self._requests.number)

    @contextlib.contextmanager
    def deferred(self, value: bool = True) -> Iterator[None]:
        """Delay signals until `check`, inside the block."""
        before, self.is_deferred = self.is_deferred, value
        try:
            yield
        finally:
            self.is_deferred = before

    @contextlib.contextmanager
    def immediate(self) -> Iterator[None]:
        """Raise signals immediately in a block inside `deferred`, including one that has already arrived."""
        with self.deferred(False):
            self.check()
            yield


def _watch(stop: StopRequest, pipe: int) -> None:
    """End the process if the main thread does not do so in time; return at a zero byte from `pipe`."""
    requests = _Requests()
    patience_began = 0.0
    while True:
        # 1. Wait for signals: Python writes the number of each as a byte.
        ready, _, _ = select.select([pipe], [], [], None if requests.number is None else _SECONDS_BETWEEN_LOOKS)
        now = time.monotonic()
        numbers = os.read(pipe, 512) if ready else b""
        for number in numbers:
            if number == 0:
                return
            if number in STOP_SIGNALS and not requests.again and requests.add(number):
                patience_began = now
        if stop.is_deferred and not requests.again:
            patience_began = now  # the program will save first

        # 2. End the process if the program has not ended by itself.
        patience = PATIENCE_AGAIN if requests.again else PATIENCE
        if requests.number is not None and now - patience_began > patience:
            _say_stopped(requests.number)
            os._exit(Interrupted(requests.number).exit_code)


def _say_stopped(number: int) -> None:
    """Write to standard error that the signal `number` ended the process; leave it out where that would block."""
    with contextlib.suppress(OSError, ValueError):
        _, writable, _ = select.select([], [2], [], 0)
        if writable:
            line_end = "\n" if os.isatty(2) else ""  # on a terminal the line may be in use
            os.write(2, f"{line_end}translator: stopped at once by signal {number}\n".encode())


@contextlib.contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """Yield a `StopRequest` that SIGINT, SIGTERM and SIGHUP (except under `nohup`) reach while the block runs.

    Python lets only the main thread set handlers; in any other thread the signals keep their usual effect.
    """
    stop = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)  # the system writes to it from inside a signal
    watcher = threading.Thread(target=_watch, args=(stop, reading), name="signals", daemon=True)
    watcher.start()
    previous_descriptor = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    # Under `nohup`, a closed terminal must not stop a training.
    numbers = list(STOP_SIGNALS)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        numbers.remove(signal.SIGHUP)
    # The handler of Python decides; the watcher helps only where Python never gets to run it.
    previous_handlers = {number: signal.signal(number, stop.receive) for number in numbers}
    try:
        yield stop
    finally:
        for number, handler in previous_handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(previous_descriptor)
        # A zero byte ends the watcher. The pipe may be full, and this byte must not be lost.
        os.set_blocking(writing, True)
        os.write(writing, b"\0")
        watcher.join()
        os.close(reading)
        os.close(writing)
