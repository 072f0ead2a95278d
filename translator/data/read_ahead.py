"""Work done ahead of its use, in a thread: training finds its next step collated."""

import contextlib
import queue
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

Item = TypeVar("Item")

_PATIENCE: Final = 0.1
"""Seconds between two looks at whether somebody wants to stop."""
_FAREWELL: Final = 5.0
"""Seconds to wait for a thread that is not wanted any more; one in long work ends after it, or with the process."""


def read_ahead(
    items: Callable[[Callable[[], None]], Generator[Item, None, None]],
    check: Callable[[], None] = lambda: None,
    depth: int = 2,
) -> Generator[Item, None, None]:
    """Yield what `items` yields, made by a thread while the items before are used; close it to end the thread.

    Args:
        items: called once, in the thread; the generator that it returns is run and closed there. It is given a check of
            its own, to call in long work, which raises when nobody wants the items any more.
        check: called by whoever waits for an item, in that thread, about ten times a second; it may raise to stop.
        depth: items that may be ready, with the one in the making, before one is taken; at least 1.

    Raises:
        BaseException: whatever `items` raises, after the items that came before it.
    """
    assert depth >= 1
    thread = _Ahead(items, depth)
    thread.start()
    try:
        while (outcome := thread.next(check)) is not None:
            if outcome.error is not None:
                raise outcome.error
            yield from outcome.items
    finally:
        thread.close()


@dataclass(frozen=True)
class _Outcome(Generic[Item]):
    """An item, or the error that came in its place."""

    items: tuple[Item, ...] = ()
    error: BaseException | None = None


class _NobodyWaitsError(Exception):
    """Ends work whose result is no longer wanted."""


class _Ahead(threading.Thread, Generic[Item]):
    """The thread that makes the items."""

    def __init__(self, items: Callable[[Callable[[], None]], Generator[Item, None, None]], depth: int) -> None:
        # A daemon: a reader that was never closed must not keep the interpreter from ending.
        super().__init__(name="reading ahead", daemon=True)
        self._items = items
        self._outcomes: queue.SimpleQueue[_Outcome[Item] | None] = queue.SimpleQueue()
        self._room = threading.Semaphore(depth)
        self._closed = False

    def run(self) -> None:
        """Make items until there is no more, or nobody wants more."""
        try:
            with contextlib.closing(self._items(self._check)) as items:
                while self._has_room():
                    try:
                        item = next(items)
                    except StopIteration:
                        break
                    self._outcomes.put(_Outcome((item,)))
        except _NobodyWaitsError:
            pass
        except BaseException as error:  # noqa: BLE001  # raised again where the item would have been taken
            self._outcomes.put(_Outcome(error=error))
        self._outcomes.put(None)

    def next(self, check: Callable[[], None]) -> _Outcome[Item] | None:
        """Return the next outcome, or None at the end; `check` is called meanwhile."""
        while True:
            check()
            with contextlib.suppress(queue.Empty):
                outcome = self._outcomes.get(timeout=_PATIENCE)
                self._room.release()
                return outcome

    def close(self) -> None:
        """End the thread, and wait for its end unless that is long in coming."""
        self._closed = True
        self._room.release()
        self.join(_FAREWELL)

    def _has_room(self) -> bool:
        """Wait until another item may be made, and return whether it is wanted."""
        self._room.acquire()
        return not self._closed

    def _check(self) -> None:
        if self._closed:
            raise _NobodyWaitsError
