"""Stopping on SIGINT and SIGTERM: at once where nothing is at stake, after saving where something is."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from translator.errors import Interrupted


class StopRequest:
    """Turns stop signals into `Interrupted`, now or at the next `check`.

    Outside `deferred` a signal raises where the program stands. Inside it is remembered until `check`, so that
    a training step is never torn apart. A second signal always raises at once.
    """

    def __init__(self) -> None:
        self._signal: int | None = None
        self._deferred = False

    def receive(self, signal_number: int, frame: FrameType | None = None) -> None:
        """Take note of a signal (the handler)."""
        again = self._signal is not None
        self._signal = signal_number
        if again or not self._deferred:
            raise Interrupted(signal_number)

    @property
    def requested(self) -> bool:
        """Whether a signal has arrived."""
        return self._signal is not None

    def check(self) -> None:
        """Raise `Interrupted` if a signal has arrived."""
        if self._signal is not None:
            raise Interrupted(self._signal)

    @contextlib.contextmanager
    def deferred(self) -> Iterator[None]:
        """Hold signals back until `check`, inside the block."""
        self._deferred = True
        try:
            yield
        finally:
            self._deferred = False


@contextlib.contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """Yield a `StopRequest` that SIGINT and SIGTERM reach while the block runs.

    Python lets only the main thread set handlers; in any other thread the signals keep their usual effect.
    """
    stop = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    previous = {number: signal.signal(number, stop.receive) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
