"""One thread translates for all requests; lines that wait at the same time share batches."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from translator.inference.translation import Translation
from translator.inference.translator import Translator
from translator.subword.glossary import Glossary

LINES_AT_ONCE: Final = 64  # in one batch, if `search.batch_size` does not say


class LineOptions(NamedTuple):
    """What a request asks for each line; lines with equal options share batches."""

    translations: int = 1  # of each line
    attention: bool = False
    terms: tuple[tuple[str, str], ...] = ()  # of a glossary, with their translations


LineTranslations = list[Translation]  # of one line, best first
WaitingLine = tuple[str, "asyncio.Future[LineTranslations]"]  # the future is cancelled when its client leaves


class _UnwantedError(Exception):
    """All clients of the current batch have left."""


class Batcher:
    """Translates the lines of all requests, in one event loop, inside `running`."""

    def __init__(self, translator: Translator) -> None:
        self._translator = translator
        self._most_lines = translator.search.batch_size or LINES_AT_ONCE
        self._waiting: dict[LineOptions, list[WaitingLine]] = {}
        self._arrived = asyncio.Event()
        self.unanswered = 0  # number of unanswered requests

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Translate incoming lines while the block runs."""
        worker = asyncio.create_task(self._work())
        try:
            yield
        finally:
            worker.cancel()

    async def translate(self, texts: Sequence[str], options: LineOptions) -> list[LineTranslations]:
        """Return the translations of each text, in order; cancelling the caller drops its work.

        Args:
            texts: lines.
            options: what is asked for each line.

        Raises TranslatorError: the translator rejects a text of this request, or one that shares its batch.
        """
        # Put the lines into the queue, and wake the worker, which sets their results.
        loop = asyncio.get_running_loop()
        lines: list[WaitingLine] = [(text, loop.create_future()) for text in texts]
        self._waiting.setdefault(options, []).extend(lines)
        self._arrived.set()
        self.unanswered += 1
        try:
            return await asyncio.gather(*(answer for _, answer in lines))
        finally:
            self.unanswered -= 1

    async def _work(self) -> None:
        """Translate batch after batch, and wait where there is none."""
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            while self._waiting:
                # A batch has lines with equal options. Options take turns, so lines beyond one batch go last.
                options = next(iter(self._waiting))
                lines = [(text, answer) for text, answer in self._waiting.pop(options) if not answer.done()]
                if len(lines) > self._most_lines:
                    self._waiting[options] = lines[self._most_lines :]
                if lines:
                    await self._translate(lines[: self._most_lines], options)

    async def _translate(self, lines: Sequence[WaitingLine], options: LineOptions) -> None:
        """Translate a batch and answer those who still wait."""
        texts = [text for text, _ in lines]
        answers = [answer for _, answer in lines]

        # The search calls this between two steps. The batch ends early if every client has left or has waited too long.
        def check() -> None:
            if all(answer.done() for answer in answers):
                raise _UnwantedError

        # 1. Translate in another thread, so that requests arrive meanwhile.
        translate = partial(
            self._translator.translations,
            texts,
            count=options.translations,
            attention=options.attention,
            check=check,
            glossary=Glossary(dict(options.terms)) if options.terms else None,
        )
        problem: Exception | None = None
        translations: Sequence[LineTranslations] = []
        try:
            translations = await asyncio.to_thread(translate)
        except Exception as error:  # noqa: BLE001 - whatever it is, the clients are told
            problem = error

        # 2. Answer the clients that still wait.
        for place, answer in enumerate(answers):
            if answer.done():
                continue
            if problem is None:
                answer.set_result(translations[place])
            else:
                answer.set_exception(problem)
