"""One thread serves all requests: which share a batch, which are dropped, and which one an error affects."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serve.stand_ins import held

from translator.errors import InputError
from translator.serve.batcher import Batcher, Form, Line, LineTranslations, gather

PLAIN, OTHER = Form(1, False), Form(2, False)


def run(translator: Any, work: Callable[[Batcher, asyncio.Task[list[LineTranslations]]], Awaitable[None]]) -> None:
    """Run `work` with a batcher and with a request for `a` that the translator is already processing."""

    async def whole() -> None:
        batcher = Batcher(translator, waiting=100)
        async with batcher.running():
            (first,) = await queued(batcher, ["a"])
            await asyncio.to_thread(translator.inside.acquire)
            try:
                await work(batcher, first)
            finally:
                translator.gate.set()

    asyncio.run(whole())


def texts(found: list[LineTranslations]) -> list[str]:
    return [of_line[0].text for of_line in found]


async def queued(
    batcher: Batcher, *requests: Sequence[str], form: Form = PLAIN
) -> list[asyncio.Task[list[LineTranslations]]]:
    tasks = [asyncio.create_task(batcher.translate(lines, form)) for lines in requests]
    await asyncio.sleep(0)
    return tasks


def test_waiting_requests_share_a_batch() -> None:
    translator = held()

    async def work(batcher: Batcher, first: asyncio.Task[list[LineTranslations]]) -> None:
        others = await queued(batcher, ["b", "c"])
        others += await queued(batcher, ["d"], form=OTHER)
        others += await queued(batcher, ["e"], ["f", "", "g"])
        assert batcher.unanswered == 5
        translator.gate.set()
        assert texts(await first) == ["A"]
        assert [texts(found) for found in await asyncio.gather(*others)] == [["B", "C"], ["D"], ["E"], ["F", "", "G"]]
        assert batcher.unanswered == 0

    run(translator, work)
    assert translator.groups == [["a"], ["b", "e", "f", "c"], ["d"], ["", "g"]]


def test_cancelled_requests_are_dropped() -> None:
    translator = held()

    async def work(batcher: Batcher, first: asyncio.Task[list[LineTranslations]]) -> None:
        second, third = await queued(batcher, ["b"], ["c"])
        first.cancel()
        second.cancel()
        translator.gate.set()
        assert texts(await third) == ["C"]
        assert batcher.unanswered == 0

    run(translator, work)
    assert translator.dropped == [["a"]]
    assert translator.groups == [["a"], ["c"]]


def test_failing_request_does_not_affect_others() -> None:
    translator = held()

    async def work(batcher: Batcher, first: asyncio.Task[list[LineTranslations]]) -> None:
        good, bad, bug = await queued(batcher, ["b"], ["bad", "x"], ["bug"])
        translator.gate.set()
        assert texts(await first) + texts(await good) == ["A", "B"]
        with pytest.raises(InputError, match="bad is refused"):
            await bad
        with pytest.raises(ZeroDivisionError):
            await bug
        assert texts(await batcher.translate(["again"], PLAIN)) == ["AGAIN"]

    run(translator, work)


LOOP = asyncio.new_event_loop()
LOOP.close()  # a future needs a loop, but not a running one


def lines_of(*requests: str, turn: int = 0, form: Form = PLAIN) -> list[Line]:
    return [
        Line(turn + place, number, text, form, asyncio.Future(loop=LOOP))
        for number, letters in enumerate(requests)
        for place, text in enumerate(letters)
    ]


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.tuples(st.text(alphabet="ab", max_size=6), st.sampled_from([PLAIN, OTHER])), max_size=8),
    st.integers(1, 5),
    st.integers(1, 12),
)
def test_each_line_is_batched_once_within_limits(requests: list[tuple[str, Form]], lines: int, characters: int) -> None:
    everything = [line for letters, form in requests for line in lines_of(letters, form=form)]
    waiting, taken = list(everything), []
    while some := gather(waiting, lines, characters):
        assert len(some) <= lines
        assert sum(len(one.text) for one in some[:-1]) < characters
        assert len({one.form for one in some}) == 1
        taken += some
    assert sorted(map(id, taken)) == sorted(map(id, everything))
    assert not waiting


def test_long_requests_do_not_delay_short_ones_or_other_forms() -> None:
    waiting = lines_of("abcdefgh", "x", "y")
    waiting += lines_of("z", turn=1, form=OTHER)
    gone = lines_of("q")[0]
    gone.answer.set_result([])
    waiting.append(gone)
    assert [one.text for one in gather(waiting, 4, 100)] == ["a", "x", "y", "b"]
    assert [one.text for one in gather(waiting, 4, 100)] == ["z"]
    assert [one.text for one in gather(waiting, 4, 100)] == ["c", "d", "e", "f"]
