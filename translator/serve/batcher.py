"""One thread that translates for all requests; requests that wait at the same time share batches."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from translator.inference.translation import Translation
from translator.inference.translator import Translator

CHARACTERS_AT_ONCE: Final = 8_000  # in one batch, over all lines, so that the next batch starts soon

Found = list[Translation]  # the translations of one line, best first


class BusyError(Exception):
    """The limit of waiting requests is reached."""


class _UnwantedError(Exception):
    """All clients of the current batch have disconnected."""


@dataclass(frozen=True)
class Form:
    """Form of the answer; a batch has lines of one form."""

    count: int  # translations of each line
    attention: bool


@dataclass(order=True)
class Line:
    """A line that waits for its translations; lines are processed in the order of `turn` and `request`."""

    turn: int  # next turn at the arrival of its request, plus its number in the request
    request: int  # number of its request
    text: str = field(compare=False)
    form: Form = field(compare=False)
    answer: "asyncio.Future[Found]" = field(compare=False)  # cancelled when the client disconnects


def gather(waiting: list[Line], lines: int, characters: int) -> list[Line]:
    """Remove and return the lines of the next batch from `waiting`, at least one if any is wanted.

    All have the form of the first line. Each request contributes one line per turn, so that long requests do not delay
    short ones. The first line is taken even if it exceeds `characters`.
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
    """Translates the lines of at most `waiting` requests at a time, in one event loop, inside `running`."""

    def __init__(self, translator: Translator, waiting: int) -> None:
        self._translator = translator
        self._most = waiting
        self._waiting: list[Line] = []
        self._turn = self._requests = 0
        self._arrived = asyncio.Event()
        self._thread = ThreadPoolExecutor(1)
        self._stopped = False
        self.unanswered = 0  # number of unanswered requests

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Translate incoming lines while the block runs."""
        worker = asyncio.create_task(self._work())
        try:
            yield
        finally:
            self._stopped = True
            worker.cancel()
            self._thread.shutdown(cancel_futures=True)

    async def translate(self, texts: Sequence[str], form: Form) -> list[Found]:
        """Return the translations of each line, in order; cancelling the caller drops its work.

        Raises:
            BusyError: too many requests are waiting.
            TranslatorError: the translator rejects the text.
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
        """Translate lines of one form; on failure retry each request separately, so that only faulty ones fail."""

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
