"""One thread serves all requests: which share a batch, which are dropped, and what an error does."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from tests.support.serve_stand_ins import held
from translator.errors import InputError
from translator.serve.batcher import Batcher, LineOptions, LineTranslations

Request = asyncio.Task[list[LineTranslations]]


def run(translator: Any, work: Callable[[Batcher, Request], Awaitable[None]]) -> None:
    """Run `work` with a batcher and with a request for `a` that the translator is already processing."""

    async def whole() -> None:
        batcher = Batcher(translator)
        async with batcher.running():
            (first,) = await queued(batcher, ["a"])
            await asyncio.to_thread(translator.inside.acquire)
            try:
                await work(batcher, first)
            finally:
                translator.gate.set()

    asyncio.run(whole())


async def texts(request: Request) -> list[str]:
    """Wait for a request, and return the best translation of each of its lines."""
    return [translations[0].text for translations in await request]


async def queued(batcher: Batcher, *requests: Sequence[str], count: int = 1) -> list[Request]:
    tasks = [asyncio.create_task(batcher.translate(lines, LineOptions(count))) for lines in requests]
    await asyncio.sleep(0)
    return tasks


def test_waiting_requests_share_a_batch() -> None:
    translator = held()

    async def work(batcher: Batcher, first: Request) -> None:
        (two_lines,) = await queued(batcher, ["b", "c"])
        (other_answer,) = await queued(batcher, ["d"], count=2)
        single, with_empty_line = await queued(batcher, ["e"], ["f", "", "g"])
        assert batcher.unanswered == 5

        translator.gate.set()
        assert await texts(first) == ["A"]
        assert await texts(two_lines) == ["B", "C"]
        assert await texts(other_answer) == ["D"]
        assert await texts(single) == ["E"]
        assert await texts(with_empty_line) == ["F", "", "G"]
        assert batcher.unanswered == 0

    run(translator, work)
    assert translator.groups == [["a"], ["b", "c", "e", "f"], ["d"], ["", "g"]]


def test_cancelled_requests_are_dropped() -> None:
    translator = held()

    async def work(batcher: Batcher, first: Request) -> None:
        second, third = await queued(batcher, ["b"], ["c"])
        first.cancel()
        second.cancel()
        translator.gate.set()
        assert await texts(third) == ["C"]
        assert batcher.unanswered == 0

    run(translator, work)
    assert translator.dropped == [["a"]]
    assert translator.groups == [["a"], ["c"]]


def test_all_requests_of_a_failing_batch_get_its_error() -> None:
    translator = held()

    async def work(batcher: Batcher, first: Request) -> None:
        good, bad = await queued(batcher, ["b"], ["bad", "x"])
        (bug,) = await queued(batcher, ["bug"], count=2)
        translator.gate.set()
        assert await texts(first) == ["A"]
        for request in (good, bad):
            with pytest.raises(InputError, match="bad is refused"):
                await request
        with pytest.raises(ZeroDivisionError):
            await bug

        # A request that comes after the errors.
        (again,) = await queued(batcher, ["again"])
        assert await texts(again) == ["AGAIN"]

    run(translator, work)
