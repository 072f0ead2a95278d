"""One thread that translates for all requests: those that wait at the same time share batches."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from translator.inference.segments import Translation
from translator.inference.translator import Translator

CHARACTERS_AT_ONCE: Final = 8_000  # of all lines that are searched together, so that the next batch comes soon

Found = list[Translation]  # the translations of one line, best first


class BusyError(Exception):
    """As many requests wait as may wait."""


class _UnwantedError(Exception):
    """All callers of the lines that are being translated have gone."""


@dataclass(frozen=True)
class Form:
    """What is asked for; lines of different forms are not searched together."""

    count: int  # translations of each line
    attention: bool


@dataclass(order=True)
class Line:
    """A line that waits for its translations; lines are taken in the order of `turn` and `request`."""

    turn: int  # the next turn when its request came, plus its number in the request
    request: int  # number of its request
    text: str = field(compare=False)
    form: Form = field(compare=False)
    answer: "asyncio.Future[Found]" = field(compare=False)  # a caller who has gone cancels it


def gather(waiting: list[Line], lines: int, characters: int) -> list[Line]:
    """Take the next lines to be searched together, at least one where any is wanted, out of `waiting`.

    All have the form of the line that is next. Each request gives a line a turn, so that long requests do not delay
    short ones. The first line is taken however many characters it has.
    """
    wanted = sorted(line for line in waiting if not line.answer.done())
    taken: list[Line] = []
    waiting.clear()
    for line in wanted:
        fits = line.form == wanted[0].form and len(taken) < lines and characters > 0
        (taken if fits else waiting).append(line)
        characters -= len(line.text) if fits else 0
    return taken


class Batcher:
    """Translates the lines of requests, at most `waiting` of them, in one event loop, inside `running`."""

    def __init__(self, translator: Translator, waiting: int) -> None:
        self._translator = translator
        self._most = waiting
        self._waiting: list[Line] = []
        self._turn = self._requests = 0
        self._arrived = asyncio.Event()
        self._thread = ThreadPoolExecutor(1)
        self._stopped = False
        self.unanswered = 0  # requests that wait for their answer

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Translate what comes, inside the block."""
        worker = asyncio.create_task(self._work())
        try:
            yield
        finally:
            self._stopped = True
            worker.cancel()
            self._thread.shutdown(cancel_futures=True)

    async def translate(self, texts: Sequence[str], form: Form) -> list[Found]:
        """Return the translations of each line, in order; when the caller is cancelled, its work is dropped.

        Raises:
            BusyError: too many requests wait.
            TranslatorError: the translator refuses the text.
        """
        if self.unanswered >= self._most:
            raise BusyError
        self._requests += 1
        future = asyncio.get_running_loop().create_future
        lines = [Line(turn, self._requests, text, form, future()) for turn, text in enumerate(texts, start=self._turn)]
        self._waiting += lines
        self._arrived.set()
        self.unanswered += 1
        try:
            return await asyncio.gather(*(line.answer for line in lines))
        finally:
            self.unanswered -= 1

    async def _work(self) -> None:
        while True:
            await self._arrived.wait()
            if lines := gather(self._waiting, self._translator.search.batch_size, CHARACTERS_AT_ONCE):
                self._turn = lines[0].turn
                await self._translate(lines)
            else:
                self._arrived.clear()

    async def _translate(self, lines: Sequence[Line]) -> None:
        """Translate lines of one form; where that fails, each request by itself, so that one at fault fails alone."""

        def check() -> None:
            if self._stopped or all(line.answer.done() for line in lines):
                raise _UnwantedError

        form, texts = lines[0].form, [line.text for line in lines]
        find = partial(self._translator.translations, texts, count=form.count, attention=form.attention, check=check)
        work = asyncio.get_running_loop().run_in_executor(self._thread, find)
        await asyncio.wait([work])
        problem = work.exception()
        requests = sorted({line.request for line in lines})
        if isinstance(problem, _UnwantedError):
            return
        if problem is not None and len(requests) > 1:
            for request in requests:
                await self._translate([line for line in lines if line.request == request])
            return
        for number, line in enumerate(lines):
            if not line.answer.done():
                if problem is None:
                    line.answer.set_result(work.result()[number])
                else:
                    line.answer.set_exception(problem)
