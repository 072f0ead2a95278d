"""Translating what comes on standard input: a line out for each line in, soon after it."""

import os
import stat
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, TextIO

from translator.errors import InputError
from translator.streaming.display import shown
from translator.streaming.lines import Chunk, chunks, decode, lines_as_they_come
from translator.streaming.output import write_lines
from translator.streaming.work import Work

if TYPE_CHECKING:
    from translator.inference import Translator


def translate_texts(
    work: Work,
    translator: "Translator",
    texts: Sequence[str],
    output: TextIO,
    display: Literal["logical", "visual"] = "logical",
) -> None:
    """Write what becomes of `texts` to `output`, plain text as `display` says.

    Raises:
        StorageError: the output cannot be written.
        BrokenPipeError: its reader has gone.
    """
    write_lines(output, shown(work.render(translator, texts, 1), work.form, display))


def translate_stream(work: Work, translator: "Translator", source: int, output: TextIO) -> None:
    """Write one translated line to `output` for each line that file descriptor `source` gives, in order.

    Lines that are there already are translated together; a line that comes alone is translated at once.

    Raises:
        InputError: a line is not UTF-8 or longer than any text; the translations of all lines before it are written.
        StorageError: the input cannot be read or the output cannot be written.
        BrokenPipeError: the reader of `output` has gone.
    """
    first_line = 1
    for lines in lines_as_they_come(source):
        texts, problem = decode(lines, first_line)
        write_lines(output, work.render(translator, texts, first_line))
        if problem is not None:
            raise problem
        first_line += len(lines)


def bytes_on_disk(source: int) -> int | None:
    """Return the bytes that are left of the file behind descriptor `source`; None where it is no file on disk."""
    status = os.fstat(source)
    if not stat.S_ISREG(status.st_mode):
        return None
    return max(0, status.st_size - os.lseek(source, 0, os.SEEK_CUR))


def translate_redirected(work: Work, translator: "Translator", source: int, output: TextIO, processes: int) -> None:
    """Write one translated line to `output` for each line of the file on disk behind `source`, as `translate_stream`.

    All its lines are there, so that several processes can share them.

    Raises:
        InputError: as `translate_stream`.
        StorageError: the input cannot be read, the output cannot be written, or a process was killed.
        BrokenPipeError: the reader of `output` has gone.
    """
    problems: list[InputError] = []
    with os.fdopen(source, "rb", closefd=False) as file:

        def readable() -> Iterator[Chunk]:
            for chunk in chunks(file):
                if chunk.problem is not None:
                    problems.append(chunk.problem)
                yield chunk

        for lines in work.render_chunks(translator, readable(), processes):
            write_lines(output, lines)
    if problems:
        raise problems[0]
