"""One thread serves all requests: which share a batch, which are dropped, and which one an error affects."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.serve_stand_ins import held
from translator.errors import InputError
from translator.serve.batcher import Batcher, Form, Line, LineTranslations, gather

PLAIN = Form(1, False)
OTHER = Form(2, False)
Request = asyncio.Task[list[LineTranslations]]


def run(translator: Any, work: Callable[[Batcher, Request], Awaitable[None]]) -> None:
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


async def texts(request: Request) -> list[str]:
    """Wait for a request, and return the best translation of each of its lines."""
    return [translations[0].text for translations in await request]


async def queued(batcher: Batcher, *requests: Sequence[str], form: Form = PLAIN) -> list[Request]:
    tasks = [asyncio.create_task(batcher.translate(lines, form, asyncio.Event())) for lines in requests]
    await asyncio.sleep(0)
    return tasks


def test_waiting_requests_share_a_batch() -> None:
    translator = held()

    async def work(batcher: Batcher, first: Request) -> None:
        (two_lines,) = await queued(batcher, ["b", "c"])
        (other_form,) = await queued(batcher, ["d"], form=OTHER)
        single, with_empty_line = await queued(batcher, ["e"], ["f", "", "g"])
        assert batcher.unanswered == 5

        translator.gate.set()
        assert await texts(first) == ["A"]
        assert await texts(two_lines) == ["B", "C"]
        assert await texts(other_form) == ["D"]
        assert await texts(single) == ["E"]
        assert await texts(with_empty_line) == ["F", "", "G"]
        assert batcher.unanswered == 0

    run(translator, work)
    assert translator.groups == [["a"], ["b", "e", "f", "c"], ["d"], ["", "g"]]


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


def test_failing_request_does_not_affect_others() -> None:
    translator = held()

    async def work(batcher: Batcher, first: Request) -> None:
        good, bad, bug = await queued(batcher, ["b"], ["bad", "x"], ["bug"])
        translator.gate.set()
        assert await texts(first) == ["A"]
        assert await texts(good) == ["B"]
        with pytest.raises(InputError, match="bad is refused"):
            await bad
        with pytest.raises(ZeroDivisionError):
            await bug

        # A request that comes after the errors.
        (again,) = await queued(batcher, ["again"])
        assert await texts(again) == ["AGAIN"]

    run(translator, work)


LOOP = asyncio.new_event_loop()
LOOP.close()  # a future needs a loop, but not a running one


def lines_of(*requests: str, turn: int = 0, form: Form = PLAIN) -> list[Line]:
    """Return the lines of some requests, in which each letter is a line."""
    lines = []
    for number, letters in enumerate(requests):
        for place, text in enumerate(letters):
            answer: asyncio.Future[LineTranslations] = asyncio.Future(loop=LOOP)
            lines.append(Line(turn + place, number, text, form, answer))
    return lines


def gathered_texts(waiting: list[Line]) -> list[str]:
    """Return the texts of the next batch of at most four lines."""
    return [line.text for line in gather(waiting, 4, 100)]


def character_count(lines: list[Line]) -> int:
    return sum(len(line.text) for line in lines)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.tuples(st.text(alphabet="ab", max_size=6), st.sampled_from([PLAIN, OTHER])), max_size=8),
    st.integers(1, 5),
    st.integers(1, 12),
)
def test_each_line_is_batched_once_within_limits(
    requests: list[tuple[str, Form]], line_limit: int, character_limit: int
) -> None:
    lines: list[Line] = []
    for letters, form in requests:
        lines += lines_of(letters, form=form)
    waiting = list(lines)
    batched: list[Line] = []
    while batch := gather(waiting, line_limit, character_limit):
        assert len(batch) <= line_limit
        assert character_count(batch[:-1]) < character_limit
        assert len({line.form for line in batch}) == 1
        batched += batch
    assert sorted(map(id, batched)) == sorted(map(id, lines))
    assert not waiting


def test_long_requests_do_not_delay_short_ones_or_other_forms() -> None:
    waiting = lines_of("abcdefgh", "x", "y")
    waiting += lines_of("z", turn=1, form=OTHER)
    (answered,) = lines_of("q")
    answered.answer.set_result([])
    waiting.append(answered)

    # A batch takes a line of each request before it takes a second one of any.
    assert gathered_texts(waiting) == ["a", "x", "y", "b"]
    assert gathered_texts(waiting) == ["z"]
    assert gathered_texts(waiting) == ["c", "d", "e", "f"]
