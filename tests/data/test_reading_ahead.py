"""Reading ahead: the same items in the same order, produced by a thread that ends when the consumer stops."""

import threading
from collections.abc import Callable, Generator, Iterator

import pytest

from translator.data.feeding import read_ahead
from translator.errors import Interrupted

Check = Callable[[], None]


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    yield
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("reading ahead")] == []


@pytest.mark.parametrize("error", [ValueError("bad"), Interrupted(15), KeyboardInterrupt()])
def test_an_error_is_raised_after_the_items_that_precede_it(error: BaseException) -> None:
    def items(check: Check) -> Generator[int, None, None]:
        yield 1
        yield 2
        raise error

    seen: list[int] = []
    with pytest.raises(type(error)) as caught:
        seen.extend(read_ahead(items, depth=9))
    assert seen == [1, 2]
    assert caught.value is error


def test_closing_early_closes_the_generator_and_ends_its_thread() -> None:
    closed: list[bool] = []

    def items(check: Check) -> Generator[int, None, None]:
        try:
            while True:
                yield 1
        finally:
            closed.append(True)

    ahead = read_ahead(items, depth=3)
    next(ahead)
    ahead.close()
    assert closed == [True]
