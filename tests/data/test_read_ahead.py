"""Reading ahead: the same items in the same order, made in a thread that ends when nobody wants more."""

import contextlib
import gc
import threading
import time
from collections.abc import Callable, Generator, Iterator

import pytest

from translator.data.read_ahead import read_ahead
from translator.errors import Interrupted

Check = Callable[[], None]


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    yield
    assert [thread.name for thread in threading.enumerate() if thread.name == "reading ahead"] == []


def numbers(check: Check) -> Generator[int, None, None]:
    yield from range(100)


@pytest.mark.parametrize("depth", [1, 2, 200])
def test_the_order_is_kept_to_the_end(depth: int) -> None:
    assert list(read_ahead(numbers, depth=depth)) == list(range(100))


def test_items_are_made_ahead_but_not_further_than_asked() -> None:
    made: list[int] = []
    ready = threading.Semaphore(0)

    def items(check: Check) -> Generator[int, None, None]:
        for number in range(10):
            made.append(number)
            ready.release()
            yield number

    with contextlib.closing(read_ahead(items, depth=2)) as ahead:
        assert next(ahead) == 0
        for _ in range(3):
            assert ready.acquire(timeout=30)
        assert not ready.acquire(timeout=0.05)
        assert made == [0, 1, 2]
        assert next(ahead) == 1
        assert ready.acquire(timeout=30)


@pytest.mark.parametrize("error", [ValueError("bad"), Interrupted(15), KeyboardInterrupt()])
def test_an_error_comes_after_the_items_before_it(error: BaseException) -> None:
    def items(check: Check) -> Generator[int, None, None]:
        yield 1
        yield 2
        raise error

    seen: list[int] = []
    with pytest.raises(type(error)) as caught:
        seen.extend(read_ahead(items, depth=9))
    assert seen == [1, 2] and caught.value is error


def test_an_error_before_the_first_item_is_raised_too() -> None:
    def items(check: Check) -> Generator[int, None, None]:
        raise OSError("no such store")

    with pytest.raises(OSError, match="no such store"):
        next(read_ahead(items))


@pytest.mark.parametrize("leave", ["close", "forget"])
def test_a_consumer_may_leave_early(leave: str) -> None:
    closed_in: list[threading.Thread] = []

    def items(check: Check) -> Generator[int, None, None]:
        try:
            while True:
                yield 1
        finally:
            closed_in.append(threading.current_thread())

    ahead = read_ahead(items, depth=3)
    next(ahead)
    if leave == "close":
        ahead.close()
    else:
        del ahead
        gc.collect()
    assert [thread.name for thread in closed_in] == ["reading ahead"]


def test_leaving_ends_long_work_by_its_check() -> None:
    began = threading.Event()

    def items(check: Check) -> Generator[int, None, None]:
        yield 1
        began.set()
        while True:  # as text is sampled
            check()
            time.sleep(0.01)

    with contextlib.closing(read_ahead(items, depth=2)) as ahead:
        assert next(ahead) == 1
        assert began.wait(30)


def test_the_consumers_check_is_called_by_the_consumer_while_it_waits() -> None:
    callers = []
    go_on = threading.Event()

    def check() -> None:
        callers.append(threading.current_thread())
        if len(callers) == 3:
            go_on.set()

    def items(check: Check) -> Generator[int, None, None]:
        check()  # not the consumer's: no count of calls, no other thread
        assert go_on.wait(30)
        yield 1

    assert list(read_ahead(items, check)) == [1]
    assert len(callers) >= 3 and set(callers) == {threading.current_thread()}


def test_the_consumers_check_may_stop_it() -> None:
    asked = []

    def check() -> None:
        asked.append(1)
        if len(asked) == 2:
            raise Interrupted(15)

    closed: list[bool] = []

    def items(check: Check) -> Generator[int, None, None]:
        try:
            while True:
                check()
                time.sleep(0.01)
                if closed:
                    yield 1
        finally:
            closed.append(True)

    with pytest.raises(Interrupted):
        next(read_ahead(items, check))
    assert closed == [True]


def test_nothing_begins_before_it_is_asked_for() -> None:
    asked: list[Check] = []

    def items(check: Check) -> Generator[int, None, None]:
        asked.append(check)
        return numbers(check)

    read_ahead(items).close()
    with contextlib.closing(read_ahead(items)) as ahead:
        assert all(thread.name != "reading ahead" for thread in threading.enumerate())
        assert asked == []
        assert next(ahead) == 0
        assert len(asked) == 1
