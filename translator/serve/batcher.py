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

LINES_AT_ONCE: Final = 64  # in one batch, if `search.batch_size` does not say
CHARACTERS_AT_ONCE: Final = 8_000  # in one batch, over all lines, so that the next batch starts soon

LineTranslations = list[Translation]  # the translations of one line, best first


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

    turn: int  # the turn in which its request arrived, plus its place in the request from 0; see `Batcher.translate`
    request: int  # number of its request
    text: str = field(compare=False)
    form: Form = field(compare=False)
    answer: "asyncio.Future[LineTranslations]" = field(compare=False)  # cancelled when the client disconnects
    # Of the request; set when the translation of its first line begins.
    begun: asyncio.Event = field(compare=False, default_factory=asyncio.Event)


def gather(waiting: list[Line], lines: int, characters: int) -> list[Line]:
    """Remove and return the lines of the next batch from `waiting`, at least one if a client still waits for any.

    All have the form of the first line. Each request contributes one line per turn, so that long requests do not delay
    short ones.

    Args:
        waiting: the lines of all requests; those whose clients have disconnected are dropped.
        lines: the largest number of lines in a batch.
        characters: the batch is full once its lines have so many; a line is taken as long as it is not full.
    """
    # By turn, then by request: this order is the fairness of the server.
    open_lines = sorted(line for line in waiting if not line.answer.done())
    batch: list[Line] = []
    room = characters
    waiting.clear()
    for line in open_lines:
        if line.form == open_lines[0].form and len(batch) < lines and room > 0:
            batch.append(line)
            room -= len(line.text)
        else:
            waiting.append(line)
    return batch


class Batcher:
    """Translates the lines of at most `waiting` requests at a time, in one event loop, inside `running`."""

    def __init__(self, translator: Translator, waiting: int) -> None:
        self._translator = translator
        self._lines_at_once = translator.search.batch_size or LINES_AT_ONCE
        self._request_limit = waiting
        self._waiting: list[Line] = []
        self._current_turn = 0  # of the first line in the batch that is translated
        self._latest_request = 0  # its number; requests are counted from 1
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

    async def translate(self, texts: Sequence[str], form: Form, begun: asyncio.Event) -> list[LineTranslations]:
        """Return the translations of each line, in order; cancelling the caller drops its work.

        `begun` is set when the request no longer waits for others: the translation of its first line begins.

        Raises:
            BusyError: too many requests are waiting.
            TranslatorError: the translator rejects the text.
        """
        if self.unanswered >= self._request_limit:
            raise BusyError
        self._latest_request += 1
        loop = asyncio.get_running_loop()
        lines = []
        # Fairness: requests take turns, with one line each a turn. Counting starts at the current turn. So the first
        # line of a new request is level with the next line of a long one, and none waits for all lines of another.
        for turn, text in enumerate(texts, start=self._current_turn):
            answer = loop.create_future()
            line = Line(turn=turn, request=self._latest_request, text=text, form=form, answer=answer, begun=begun)
            lines.append(line)
        self._waiting += lines
        self._arrived.set()
        self.unanswered += 1
        try:
            return await asyncio.gather(*(line.answer for line in lines))
        finally:
            self.unanswered -= 1

    async def _work(self) -> None:
        """Translate batch after batch, and wait where there is none."""
        while True:
            await self._arrived.wait()
            lines = gather(self._waiting, self._lines_at_once, CHARACTERS_AT_ONCE)
            if lines:
                self._current_turn = lines[0].turn
                for line in lines:
                    line.begun.set()
                await self._translate(lines)
            else:
                self._arrived.clear()

    async def _translate(self, lines: Sequence[Line]) -> None:
        """Translate lines of one form; on failure retry each request separately, so that only faulty ones fail."""

        def check() -> None:
            if self._stopped or all(line.answer.done() for line in lines):
                raise _UnwantedError

        # 1. Translate, in the thread of the model.
        form = lines[0].form
        texts = [line.text for line in lines]
        translate = partial(
            self._translator.translations, texts, count=form.count, attention=form.attention, check=check
        )
        work = asyncio.get_running_loop().run_in_executor(self._thread, translate)
        await asyncio.wait([work])
        problem = work.exception()
        if isinstance(problem, _UnwantedError):
            return

        # 2. After a failure, find the requests that are at fault.
        requests = sorted({line.request for line in lines})
        if problem is not None and len(requests) > 1:
            for request in requests:
                await self._translate([line for line in lines if line.request == request])
            return

        # 3. Answer those who still wait.
        for number, line in enumerate(lines):
            if line.answer.done():
                continue
            if problem is None:
                line.answer.set_result(work.result()[number])
            else:
                line.answer.set_exception(problem)
