"""Lines in, rendered lines out: in this process, or in several side by side."""

import logging
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from translator.errors import StorageError
from translator.streaming.form import OutputForm
from translator.streaming.lines import Chunk
from translator.workers import available_cores, map_in_order

if TYPE_CHECKING:
    from translator.inference import Translator

LOGGER = logging.getLogger("translator")

BYTES_WORTH_PROCESSES: Final = 400_000
"""Bytes of text below which starting processes takes longer than they save.

To start one and load a small run took 3.6 seconds of a core, in which the same core translates about 19 kilobytes with
beam 5 and that run; greedy search is several times as fast. What several processes save is a part of the time that one
takes with all threads, so the text must be many times as long.
"""


class Rendered(NamedTuple):
    """What became of a chunk."""

    lines: list[str]
    warnings: list[str]
    """That another process gave meanwhile."""


@dataclass(frozen=True)
class Work:
    """How texts are translated and written.

    Args:
        load: returns the translator; called in each worker process, so it must be picklable, once in each.
        form: what is written.
    """

    load: "Callable[[], Translator]"
    form: OutputForm

    def render(self, translator: "Translator", texts: Sequence[str], first_line: int) -> list[str]:
        """Return the lines to be written for `texts`, the first of which has the number `first_line`."""
        form = self.form
        found = translator.translations(
            texts,
            count=form.count,
            prefixes=[form.prefix] * len(texts) if form.prefix else None,
            attention=form.attention or form.alignment,
            first_line=first_line,
        )
        return [
            line
            for number, (text, translations) in enumerate(zip(texts, found, strict=True), first_line)
            for line in form.render(number, text, translations)
        ]

    def render_chunks(
        self, translator: "Translator", chunks: Iterable[Chunk], processes: int
    ) -> Generator[list[str], None, None]:
        """Yield the lines to be written for each chunk, in order.

        Args:
            translator: for the work of this process.
            chunks: taken a few ahead of what is yielded.
            processes: 1 does all in this one; more have one thread each.

        Raises:
            StorageError: a process was killed.
        """
        if processes <= 1:
            for chunk in chunks:
                yield self.render(translator, chunk.texts, chunk.first_line)
            return
        try:
            for rendered in map_in_order(partial(_begin, self), chunks, processes):
                for warning in rendered.warnings:
                    LOGGER.warning("%s", warning)
                yield rendered.lines
        except StorageError as error:
            if not isinstance(error.__cause__, BrokenProcessPool):
                raise
            raise StorageError(
                "a process that translates was killed, most likely because memory ran out; take fewer (--processes 1), "
                "or close other programs"
            ) from error


def choose_processes(translator: "Translator", size: int, setting: int | None = None) -> int:
    """Return the number of processes that translate a text together.

    An engine other than torch has threads of its own, and is left to them.

    Args:
        translator: translates; its `search.processes` says how many, and 0 chooses one for each core of a CPU where the
            text is long enough to pay for them, otherwise one.
        size: bytes of text.
        setting: in place of `search.processes`.
    """
    if translator.searcher.name != "torch":
        return 1
    if wanted := translator.search.processes if setting is None else setting:
        return wanted
    return available_cores() if translator.on_cpu and size >= BYTES_WORTH_PROCESSES else 1


class _Listener(logging.Handler):
    """Keeps the warnings of a worker process for its parent to tell."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(record.getMessage())


def _begin(work: Work) -> Callable[[Chunk], Rendered]:
    """Make a worker process ready."""
    listener = _Listener()
    LOGGER.addHandler(listener)
    LOGGER.propagate = False
    translator = work.load()
    torch: Any = sys.modules.get("torch")
    if torch is not None:  # an engine without torch is spared it
        torch.set_num_threads(1)
    listener.heard.clear()  # the parent has loaded the same run, and was told

    def render(chunk: Chunk) -> Rendered:
        listener.heard.clear()
        return Rendered(work.render(translator, chunk.texts, chunk.first_line), list(listener.heard))

    return render
