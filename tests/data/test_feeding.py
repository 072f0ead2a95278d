"""Feeding: items in order, from a thread or from another process; errors, stops and kills reach the consumer."""

import errno
import functools
import itertools
import multiprocessing
import os
import signal
import time
from collections.abc import Generator
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
import torch

from translator.data import Batch, collate_rows
from translator.data.feeding import Check, from_another_process
from translator.errors import CorpusError, Interrupted, RunError


def batches(count: int, check: Check) -> Generator[Batch, None, None]:
    """Runs in the other process."""
    for number in range(count):
        yield collate_rows([[([10 + number], [20])]])


def broken_after(count: int, check: Check) -> Generator[int, None, None]:
    yield from range(count)
    raise CorpusError("the text is gone")


def killed_after(count: int, check: Check) -> Generator[int, None, None]:
    yield from range(count)
    os.kill(os.getpid(), signal.SIGKILL)


def process_ids(check: Check) -> Generator[int, None, None]:
    while True:
        yield os.getpid()


def nothing(check: Check) -> Generator[int, None, None]:
    while True:
        check()
        time.sleep(0.01)
    yield 0


class UnpicklableError(Exception):
    """An error that cannot be pickled, since it holds a function."""

    def __init__(self) -> None:
        super().__init__(lambda: None)


def unpicklable(check: Check) -> Generator[int, None, None]:
    raise UnpicklableError
    yield 0


def tidy(folder: Path, check: Check) -> Generator[int, None, None]:
    """Leaves a file behind only if it is not closed."""
    file = folder / "left-over"
    file.touch()
    try:
        while True:
            check()
            yield os.getpid()
    finally:
        file.unlink()


def test_items_arrive_in_order() -> None:
    arrived = list(from_another_process(functools.partial(batches, 5)))
    assert [int(batch.source[0, 0]) for batch in arrived] == [10, 11, 12, 13, 14]
    assert all(torch.equal(batch.source_sentence, arrived[0].source_sentence) for batch in arrived)


def test_an_error_is_raised_after_the_items_before_it() -> None:
    items = from_another_process(functools.partial(broken_after, 2))
    assert list(itertools.islice(items, 2)) == [0, 1]
    with pytest.raises(CorpusError, match="the text is gone"):
        next(items)


def test_a_killed_process_ends_in_one_message() -> None:
    items = from_another_process(functools.partial(killed_after, 1))
    assert next(items) == 0
    with pytest.raises(RunError, match="the process that reads the training text was killed"):
        next(items)


def test_closing_ends_the_other_process() -> None:
    items = from_another_process(process_ids)
    process = next(items)
    assert process != os.getpid()
    items.close()
    assert not multiprocessing.active_children()


def test_the_check_can_end_the_wait() -> None:
    def stop() -> None:
        raise Interrupted(15)

    with pytest.raises(Interrupted):
        next(from_another_process(nothing, check=stop))
    assert not multiprocessing.active_children()


def test_an_error_brings_its_traceback() -> None:
    items = from_another_process(functools.partial(broken_after, 0))
    with pytest.raises(CorpusError) as caught:
        next(items)
    assert "broken_after" in "".join(caught.value.__notes__)


def test_an_error_that_cannot_be_pickled_is_shown() -> None:
    with pytest.raises(RuntimeError, match="UnpicklableError"):
        next(from_another_process(unpicklable))


def test_a_closed_producer_cleans_up(tmp_path: Path) -> None:
    items = from_another_process(functools.partial(tidy, tmp_path))
    next(items)
    assert list(tmp_path.iterdir())
    items.close()
    assert not list(tmp_path.iterdir())


def test_stop_signals_do_not_reach_the_other_process() -> None:
    items = from_another_process(process_ids)
    process = next(items)
    os.kill(process, signal.SIGTERM)
    os.kill(process, signal.SIGINT)
    assert [next(items) for _ in range(20)] == [process] * 20
    items.close()


def killed_in_the_middle(check: Check) -> Generator[int, None, None]:
    def send_half(connection: Connection, content: memoryview) -> None:
        os.write(connection.fileno(), content[: len(content) // 2])
        os.kill(os.getpid(), signal.SIGKILL)

    Connection._send = send_half  # type: ignore[attr-defined]
    yield 0


def test_a_process_that_is_killed_in_the_middle_of_an_item_ends_in_one_message() -> None:
    with pytest.raises(RunError, match="the process that reads the training text was killed"):
        next(from_another_process(killed_in_the_middle))
    assert not multiprocessing.active_children()


def test_a_process_that_cannot_start_ends_in_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(BaseProcess, "start", refuse)
    with pytest.raises(RunError, match="cannot start the process that reads the training text"):
        next(from_another_process(process_ids))
