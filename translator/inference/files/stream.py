"""Streams of lines, translated as they arrive."""

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from translator.inference.files.line_reader import FILE, PIPE
from translator.inference.files.line_translation import Work, choose_processes
from translator.inference.files.line_writer import write_lines

if TYPE_CHECKING:  # a run-time import would slow the command line's help
    from translator.inference.translator import Translator


def translate_stream(work: Work, translator: "Translator", source: int | Path, output: TextIO) -> None:
    """Write the translation of each line of `source` to `output`, in order.

    Lines already waiting in a pipe are translated together; a line that arrives alone is translated immediately. A
    long file on disk may be divided among processes. The translations of all lines before an error are written.

    Args:
        work: what to write for each line.
        translator: what `work` loads.
        source: a file on disk, or a file descriptor.
        output: a standard stream.

    Raises:
        InputError, CorpusError: a line, or the whole text, cannot be read (see `read_lines`).
        StorageError: the input cannot be read, the output cannot be written, or a process was killed.
        BrokenPipeError: the reader of `output` has closed it.
    """
    # The size decides whether processes pay; a pipe does not tell its size.
    size = _size_on_disk(source)
    processes = 1 if size is None else choose_processes(translator, size)
    pace = FILE
    if processes == 1:
        pace = PIPE._replace(at_most=max(PIPE.at_most, translator.searcher.batch_rows))
    chunks = work.read(source, pace)
    for rendered in work.render_chunks(translator, chunks, processes):
        write_lines(output, rendered.lines)


def _size_on_disk(source: int | Path) -> int | None:
    """Return how many bytes of `source` are left to read; None for a pipe or a terminal."""
    if isinstance(source, Path):
        return source.stat().st_size
    status = os.fstat(source)
    if not stat.S_ISREG(status.st_mode):
        return None
    return status.st_size - os.lseek(source, 0, os.SEEK_CUR)
