"""Blocks of texts translated in order, in this process or in several worker processes."""

import logging
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, TextIO

from translator.errors import RunError
from translator.inference.files.document import Block, Document
from translator.inference.files.output_formats import OutputForm
from translator.inference.text.checks import warn_of_lost_text
from translator.inference.translator import Translator
from translator.run.logging import LOGGER
from translator.run.text import write_lines
from translator.run.workers import available_cores, map_in_order

Load = Callable[[], Translator]  # the model, also in each worker process
LINES_AT_ONCE: Final = 1024  # fewer give the engine too little to sort by length
_BYTES_WORTH_PROCESSES: Final = 400_000

Translated = tuple[Block, list[str]]  # a block, and its lines of output


def translate_block(translator: Translator, form: OutputForm, block: Block) -> list[str]:
    """Return the lines of output for a block, and warn of lost text."""
    text_translations = translator.translations(
        block.texts,
        count=form.count,
        prefixes=[form.prefix] * len(block.texts) if form.prefix else None,
        attention=form.attention or form.alignment,
        first_line=block.first_line,
        scored=form.scores,
    )
    best = [ranked[0].text for ranked in text_translations]
    warn_of_lost_text(block.texts, best, block.first_line)
    return form.lines(block.first_line, block.texts, text_translations)


def translate_stream(load: Load, translator: Translator, document: Document, output: TextIO) -> None:
    """Write the translation of a document to a standard stream, in order, and each block as soon as it is translated.

    Lines already waiting in a pipe are translated together; a line that arrives alone is translated immediately. The
    translations of all lines before an error are written.

    Args:
        load: loads the model in a worker process.
        translator: what it loads.
        document: a file on disk may be divided among processes.
        output: a standard stream.

    Raises:
        InputError, CorpusError: a line, or the whole text, cannot be read (see `read_lines`).
        StorageError: the input cannot be read, the output cannot be written, or a process was killed.
        BrokenPipeError: the reader of `output` has closed it.
    """
    for _, lines in translated_blocks(load, translator, document):
        write_lines(output, lines)


def translated_blocks(
    load: Load, translator: Translator, document: Document, finished_lines: int = 0
) -> Iterator[Translated]:
    """Yield the blocks of a document after the first `finished_lines` texts, in order, with their lines of output.

    An earlier call that was stopped has yielded whole blocks, so `finished_lines` is the end of a block.

    Raises:
        InputError, CorpusError: the document cannot be read.
        RunError: a worker process loaded other weights than those of `translator`.
        StorageError: a worker process was killed.
    """
    blocks = document.blocks(max(LINES_AT_ONCE, translator.searcher.batch_rows))  # enough texts for a full batch
    blocks = (block for block in blocks if block.first_line > finished_lines)
    processes = choose_processes(translator, document.source)
    if processes == 1:
        for block in blocks:
            yield block, translate_block(translator, document.form, block)
        return
    start = partial(start_worker, load, document, translator.identity)
    for translated, warnings in map_in_order(start, blocks, processes):
        for warning in warnings:
            LOGGER.warning("%s", warning)
        yield translated


def start_worker(load: Load, document: Document, identity: str) -> Callable[[Block], tuple[Translated, list[str]]]:
    """Prepare a worker process, and return its function, which translates a block.

    The function returns the translated block and its warnings, which the main process logs.

    Raises RunError: the loaded weights do not have this `identity`.
    """
    # 1. Collect warnings: the main process logs them, in the order of the lines.
    warnings: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: warnings.append(record.getMessage())  # type: ignore[method-assign]
    LOGGER.addHandler(handler)
    LOGGER.propagate = False

    # 2. Load the model. The name of a checkpoint may mean another one by now.
    translator = load()
    if translator.identity != identity:
        raise RunError(
            "a worker process found other weights than this command began with, since a training moved `best` or "
            "`last` meanwhile; run the same command again, with --checkpoint STEP while that training runs"
        )
    # There is a process for each core, so more threads would only compete.
    torch: Any = sys.modules.get("torch")  # None if the engine does without torch
    if torch is not None:
        torch.set_num_threads(1)

    def translate(block: Block) -> tuple[Translated, list[str]]:
        warnings.clear()
        lines = translate_block(translator, document.form, block)
        return (block, lines), list(warnings)

    return translate


def choose_processes(translator: Translator, source: int | Path) -> int:
    """Return the number of processes for a text: `search.processes`, or on a CPU one for each core for a long text.

    A pipe has one. Of a file, the size decides whether processes pay: also on resuming the whole size, because another
    number may change the last digits of a score.
    """
    searcher = translator.searcher
    if searcher.name != "torch" or not isinstance(source, Path):
        return 1
    is_worth_processes = searcher.arithmetic == "cpu" and source.stat().st_size >= _BYTES_WORTH_PROCESSES
    processes = translator.search.processes or (available_cores() if is_worth_processes else 1)
    return min(processes, available_cores())
