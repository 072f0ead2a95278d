"""One thread for all requests: who shares a batch, what is dropped, and whose fault a failure is."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from serve.stand_ins import held

from translator.errors import InputError
from translator.serve.batcher import Batcher, BusyError
from translator.serve.job import Form, Found

PLAIN = Form(1, False)


def run(translator: Any, work: Callable[[Batcher], Awaitable[None]], waiting: int = 100) -> None:
    async def whole() -> None:
        batcher = Batcher(translator, waiting)
        async with batcher.running():
            try:
                await work(batcher)
            finally:
                translator.gate.set()

    asyncio.run(whole())


def texts(found: list[Found]) -> list[str]:
    return [of_line[0]["text"] for of_line in found]


async def begun(translator: Any) -> None:
    """Wait until the translator is inside a call."""
    await asyncio.to_thread(translator.inside.acquire)


async def queued(batcher: Batcher, *requests: tuple[list[str], Form]) -> list[asyncio.Task[list[Found]]]:
    tasks = [asyncio.create_task(batcher.translate(lines, form)) for lines, form in requests]
    await asyncio.sleep(0)
    return tasks


def test_those_that_wait_share_a_batch() -> None:
    translator = held()

    async def work(batcher: Batcher) -> None:
        (first,) = await queued(batcher, (["a"], PLAIN))
        await begun(translator)
        others = await queued(
            batcher, (["b", "c"], PLAIN), (["d"], Form(2, False)), (["e"], PLAIN), (["f", "", "g"], PLAIN)
        )
        assert batcher.unanswered == 5
        translator.gate.set()
        assert texts(await first) == ["A"]
        assert [texts(found) for found in await asyncio.gather(*others)] == [["B", "C"], ["D"], ["E"], ["F", "", "G"]]
        assert batcher.unanswered == 0

    run(translator, work)
    assert translator.groups == [["a"], ["b", "e", "f", "c"], ["d"], ["", "g"]]


def test_no_line_is_no_work() -> None:
    async def work(batcher: Batcher) -> None:
        assert await batcher.translate([], PLAIN) == []

    run(held(), work)


def test_work_that_nobody_wants_is_dropped() -> None:
    translator = held()

    async def work(batcher: Batcher) -> None:
        (first,) = await queued(batcher, (["a"], PLAIN))
        await begun(translator)
        second, third = await queued(batcher, (["b"], PLAIN), (["c"], PLAIN))
        first.cancel()
        second.cancel()
        translator.gate.set()
        assert texts(await third) == ["C"]
        assert batcher.unanswered == 0

    run(translator, work)
    assert translator.dropped == [["a"]]
    assert translator.groups == [["a"], ["c"]]


def test_one_request_that_fails_fails_alone() -> None:
    translator = held()

    async def work(batcher: Batcher) -> None:
        (first,) = await queued(batcher, (["a"], PLAIN))
        await begun(translator)
        good, bad, bug = await queued(batcher, (["b"], PLAIN), (["bad"], PLAIN), (["bug"], PLAIN))
        translator.gate.set()
        assert texts(await first) + texts(await good) == ["A", "B"]
        with pytest.raises(InputError, match="bad is refused"):
            await bad
        with pytest.raises(ZeroDivisionError):
            await bug
        assert texts(await batcher.translate(["again"], PLAIN)) == ["AGAIN"]

    run(translator, work)


def test_no_more_wait_than_may_wait() -> None:
    translator = held()

    async def work(batcher: Batcher) -> None:
        first, second = await queued(batcher, (["a"], PLAIN), (["b"], PLAIN))
        with pytest.raises(BusyError):
            await batcher.translate(["c"], PLAIN)
        translator.gate.set()
        await asyncio.gather(first, second)
        assert texts(await batcher.translate(["c"], PLAIN)) == ["C"]

    run(translator, work, waiting=2)


def test_work_under_way_is_dropped_when_the_server_ends() -> None:
    translator = held()

    async def work(batcher: Batcher) -> None:
        (task,) = await queued(batcher, (["a"], PLAIN))
        await begun(translator)
        task.cancel()

    run(translator, work)
    assert translator.dropped == [["a"]]


def test_the_console_hears_no_warning_about_lines_of_others() -> None:
    heard: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: heard.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("translator")
    logger.addHandler(handler)
    translator = held(opened=True)
    inner = translator.translations

    def talking(*arguments: Any, **named: Any) -> Any:
        logger.warning("line 1 is long")
        logger.error("out of order")
        return inner(*arguments, **named)

    translator.translations = talking

    async def work(batcher: Batcher) -> None:
        await batcher.translate(["a"], PLAIN)
        logger.warning("from the main thread")

    try:
        run(translator, work)
    finally:
        logger.removeHandler(handler)
    assert heard == ["out of order", "from the main thread"]
