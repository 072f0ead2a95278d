"""One thread that translates for all requests, many lines at a time."""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from translator.inference import Translator
from translator.serve.answer import answer
from translator.serve.gathering import Part, gather
from translator.serve.job import Form, Found, Job

LOGGER = logging.getLogger("translator")

CHARACTERS_AT_ONCE: Final = 8_000
"""Of all lines that are searched together, so that nobody waits long for the next batch."""
_THREAD: Final = "translation"


class BusyError(Exception):
    """As many requests wait as may wait."""


class _UnwantedError(Exception):
    """Nobody waits any more for what is being translated."""


class Batcher:
    """Translates the lines of requests; those that wait at the same time share a batch.

    All methods belong to one event loop, inside `running`.

    Args:
        translator: translates, in one thread.
        waiting: requests that may be unanswered at the same time.
    """

    def __init__(self, translator: Translator, waiting: int) -> None:
        self._translator = translator
        self._most = waiting
        self._waiting: deque[Job] = deque()
        self._unanswered = 0
        self._arrived = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, _THREAD)
        self._stopped = False

    @property
    def unanswered(self) -> int:
        """Requests that wait for their answer."""
        return self._unanswered

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Translate what comes, inside the block."""
        LOGGER.addFilter(_is_for_the_console)
        worker = asyncio.create_task(self._work())
        try:
            yield
        finally:
            self._stopped = True
            worker.cancel()
            self._thread.shutdown(cancel_futures=True)
            LOGGER.removeFilter(_is_for_the_console)

    async def translate(self, lines: Sequence[str], form: Form) -> list[Found]:
        """Return the translations of each line, in order; when the caller is cancelled, its work is dropped.

        Raises:
            BusyError: too many requests wait.
            TranslatorError: the translator refuses the text.
        """
        if not lines:
            return []
        if self._unanswered >= self._most:
            raise BusyError
        job = Job(lines, form, asyncio.get_running_loop().create_future())
        self._unanswered += 1
        self._waiting.append(job)
        self._arrived.set()
        try:
            return await job.answer
        finally:
            self._unanswered -= 1

    async def _work(self) -> None:
        while True:
            await self._arrived.wait()
            parts = gather(self._waiting, self._translator.search.batch_size, CHARACTERS_AT_ONCE)
            if parts:
                await self._translate(parts)
            else:
                self._arrived.clear()

    async def _translate(self, parts: Sequence[Part]) -> None:
        """Translate lines together; where that fails, each request by itself, so that only one to blame is failed."""
        work = asyncio.get_running_loop().run_in_executor(self._thread, self._find, parts)
        await asyncio.wait([work])
        problem = work.exception()
        if problem is not None:
            jobs = list(dict.fromkeys(part.job for part in parts))
            if len(jobs) == 1:
                jobs[0].fail(problem)
                return
            for job in jobs:
                await self._translate([part for part in parts if part.job is job])
        elif (found := work.result()) is not None:
            for part, of_line in zip(parts, found, strict=True):
                part.job.put(part.number, of_line)

    def _find(self, parts: Sequence[Part]) -> list[Found] | None:
        """Translate lines of the same form, in the thread; return None where nobody wants them any more."""
        form = parts[0].job.form

        def check() -> None:
            if self._stopped or not any(part.job.is_wanted for part in parts):
                raise _UnwantedError

        texts = [part.text for part in parts]
        try:
            found = self._translator.translations(texts, count=form.count, attention=form.attention, check=check)
        except _UnwantedError:
            return None
        return [[answer(translation) for translation in of_line] for of_line in found]


def _is_for_the_console(record: logging.LogRecord) -> bool:
    """Return whether a message is for the person at the server, who has not sent the text that a warning is about."""
    return not (record.threadName or "").startswith(_THREAD) or record.levelno > logging.WARNING
