"""Commands that this process waits for: how stop signals reach them, and what their exit codes mean."""

import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType

from translator.errors import Interrupted, RunError

STOPPED = (128 + signal.SIGINT, 128 + signal.SIGTERM, -signal.SIGINT, -signal.SIGTERM)
"""Exit codes of a command that was stopped, whether it saved its work or died of the signal."""


@contextlib.contextmanager
def handed_on(send: Callable[[int], None]) -> Iterator[None]:
    """Call `send` with the number of each SIGINT and SIGTERM that comes while the block runs."""

    def hand_on(number: int, _: FrameType | None) -> None:
        send(number)

    previous = {number: signal.signal(number, hand_on) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def good_end(code: int, why: str) -> None:
    """Return if a command ended with exit code 0.

    Args:
        code: its exit code.
        why: what to say if it failed.

    Raises:
        RunError: it failed.
        Interrupted: it was stopped.
    """
    if code in STOPPED:
        raise Interrupted(signal.SIGINT if code in (STOPPED[0], STOPPED[2]) else signal.SIGTERM)
    if code:
        raise RunError(why)
