"""Stopping on SIGINT, SIGTERM and SIGHUP: immediately, or after saving inside `deferred`.

A first signal raises `Interrupted` immediately, or at the next `check` inside `deferred`. A second one always raises
immediately. Python runs a handler only between two bytecode instructions, so a long library call delays it. No file is
half-written, since files are replaced atomically (run/files.py).
"""

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Final

from translator.errors import Interrupted

STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ONE_REQUEST: Final = 2.0  # seconds in which different signals are one request: terminals and launchers send several


class StopRequest:
    """Turns stop signals into `Interrupted`: immediately, or inside `deferred` at the next `check`.

    So an optimizer update is never interrupted. A second signal always raises immediately.
    """

    def __init__(self) -> None:
        self._number: int | None = None  # of the signal that has arrived
        self._first_came = 0.0  # on the monotonic clock
        self.is_deferred = False  # whether the program is inside `deferred`, and outside `immediate`

    def receive(self, number: int, frame: FrameType | None = None) -> None:
        """Handle the signal `number`: raise `Interrupted`, or remember it for the next `check`."""
        # 1. The first signal raises now, or while signals are deferred at the next `check`.
        now = time.monotonic()
        if self._number is None:
            self._number, self._first_came = number, now
            if not self.is_deferred:
                self.check()
            return

        # 2. A second request raises at once: the same signal again, or any signal after two seconds. SIGHUP again is no
        # request by itself: a closing terminal may send it twice, from the kernel and from the shell.
        is_sent_again = number == self._number and number != signal.SIGHUP
        if is_sent_again or now - self._first_came >= _ONE_REQUEST:
            self._number = number
            self.check()

    @property
    def requested(self) -> bool:
        """Whether a signal has arrived."""
        return self._number is not None

    def check(self) -> None:
        """Raise `Interrupted` if a signal has arrived."""
        if self._number is not None:
            raise Interrupted(self._number)

    @contextlib.contextmanager
    def deferred(self, value: bool = True) -> Iterator[None]:
        """Delay signals until `check` while the block runs; with False, raise them at once, as `immediate` does."""
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


@contextlib.contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """Yield a `StopRequest` that SIGINT, SIGTERM and SIGHUP (except under `nohup`) reach while the block runs.

    Python lets only the main thread set handlers; in any other thread the signals keep their usual effect.
    """
    stop = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    # Under `nohup`, SIGHUP is ignored: a closed terminal must not stop a training.
    handled_signals = list(STOP_SIGNALS)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        handled_signals.remove(signal.SIGHUP)
    previous_handlers = {number: signal.signal(number, stop.receive) for number in handled_signals}
    try:
        yield stop
    finally:
        for number, handler in previous_handlers.items():
            signal.signal(number, handler)
