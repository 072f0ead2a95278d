"""Chunks of lines translated in order, in this process or in several worker processes."""

import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from translator.errors import CorpusError, InputError, RunError, StorageError
from translator.inference.files.line_reader import Chunk, Pace, read_lines
from translator.inference.files.line_warnings import warn_of_lost_digits
from translator.inference.files.output_formats import OutputForm
from translator.run.logging import LOGGER
from translator.run.workers import available_cores, map_in_order

if TYPE_CHECKING:  # a run-time import would slow the command line's help
    from translator.inference.translator import Translator


class RenderedChunk(NamedTuple):
    """The output of consecutive lines."""

    text_count: int  # lines of the input
    lines: list[str]  # of the output
    warnings: list[str]  # of a worker process, which has no log of its own


@dataclass(frozen=True)
class Work:
    """A translation task: how to load the translator, and how to read and write texts."""

    load: "Callable[[], Translator]"  # called once in each worker process, so it must be picklable
    form: OutputForm
    column: str | None = None  # of a table or JSON Lines, which is translated
    paragraphs: bool = False  # join the lines of each paragraph

    def read(self, source: int | Path, pace: Pace) -> Iterator[Chunk]:
        """Yield the lines of a file or a descriptor; see `read_lines`."""
        return read_lines(source, pace, self.column, paragraphs=self.paragraphs)

    def render(self, translator: "Translator", texts: Sequence[str], first_line: int) -> list[str]:
        """Return the output lines of `texts`; the first text has line number `first_line`."""
        form = self.form
        text_translations = translator.translations(
            texts,
            count=form.count,
            prefixes=[form.prefix] * len(texts) if form.prefix else None,
            attention=form.attention or form.alignment,
            first_line=first_line,
            scored=form.scores,
        )
        best = [translations[0].text if translations else "" for translations in text_translations]
        warn_of_lost_digits(texts, best, first_line)
        lines: list[str] = []
        for number, (text, translations) in enumerate(zip(texts, text_translations, strict=True), first_line):
            lines += form.render(number, text, translations)
        return lines

    def render_chunks(
        self, translator: "Translator", chunks: Iterable[Chunk], processes: int
    ) -> Iterator[RenderedChunk]:
        """Yield the output of each chunk, in order.

        An error of `chunks` is raised after the output of all earlier chunks.

        Args:
            translator: used if this is the only process.
            chunks: read ahead.
            processes: 1 means this one; several are workers with one thread each.

        Raises:
            InputError, CorpusError: those of `chunks`.
            RunError: a worker process loaded other weights than those of `translator`.
            StorageError: a worker process was killed.
        """
        # An error of the input must not overtake the output of the lines before it. So it waits here.
        problems: list[InputError | CorpusError] = []

        def readable_chunks() -> Iterator[Chunk]:
            try:
                for chunk in chunks:
                    _warn_of_invalid_lines(chunk.invalid)
                    yield chunk
            except (InputError, CorpusError) as error:
                problems.append(error)

        if processes == 1:
            for chunk in readable_chunks():
                lines = self.render(translator, chunk.texts, chunk.first_line)
                yield RenderedChunk(text_count=len(chunk.texts), lines=lines, warnings=[])
        else:
            yield from self._render_in_workers(translator.identity, readable_chunks(), processes)
        if problems:
            raise problems[0]

    def _render_in_workers(self, identity: str, chunks: Iterator[Chunk], processes: int) -> Iterator[RenderedChunk]:
        """Yield the output of each chunk, in order, from worker processes with the weights `identity`."""
        try:
            for rendered in map_in_order(partial(start_worker, self, identity), chunks, processes):
                for warning in rendered.warnings:
                    LOGGER.warning("%s", warning)
                yield rendered
        except StorageError as error:
            if not isinstance(error.__cause__, BrokenExecutor):
                raise
            raise StorageError(
                "a worker process was killed; if nobody stopped it, memory may have run out: use fewer "
                "(--set search.processes=1), or close other programs"
            ) from error


def _warn_of_invalid_lines(numbers: Sequence[int]) -> None:
    """Warn that the lines of the input with these `numbers` were not UTF-8."""
    if not numbers:
        return
    more = f" and {len(numbers) - 1} more up to line {numbers[-1]}" if len(numbers) > 1 else ""
    LOGGER.warning(f"not UTF-8 in line {numbers[0]} of the input{more}: invalid bytes are left out")


def start_worker(work: Work, identity: str) -> Callable[[Chunk], RenderedChunk]:
    """Prepare a worker process for `work`; return what it does with a chunk.

    Raises RunError: the loaded weights do not have this `identity`.
    """
    # 1. Collect warnings, which the main process shows in the order of the lines.
    warnings: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: warnings.append(record.getMessage())  # type: ignore[method-assign]
    LOGGER.addHandler(handler)
    LOGGER.propagate = False

    # 2. Load the model. The name of a checkpoint may mean another one by now.
    translator = work.load()
    if translator.identity != identity:
        raise RunError(
            "a worker process found other weights than this command began with, since a training moved `best` or "
            "`last` meanwhile; run the same command again, with --checkpoint STEP while that training runs"
        )
    torch: Any = sys.modules.get("torch")
    # There is a process for each core, so more threads would only compete.
    if torch is not None:
        torch.set_num_threads(1)

    def render(chunk: Chunk) -> RenderedChunk:
        warnings.clear()
        lines = work.render(translator, chunk.texts, chunk.first_line)
        return RenderedChunk(text_count=len(chunk.texts), lines=lines, warnings=list(warnings))

    return render


def choose_processes(translator: "Translator", size: int) -> int:
    """Return the number of processes for a text: `search.processes`, or as many as its engine can use.

    Args:
        translator: its engine and its search settings decide.
        size: bytes of the text; a short text does not pay for starting processes.
    """
    searcher = translator.searcher
    if searcher.name != "torch":
        return 1
    processes = translator.search.processes
    if processes == 0:
        processes = searcher.useful_processes if size >= searcher.bytes_worth_processes else 1
    return min(processes, available_cores())
