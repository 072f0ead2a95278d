"""Lines read from files and pipes, as they arrive, and checked."""

import os
import select
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from translator.corpus.reading.column_texts import column_texts
from translator.corpus.reading.encoding import refuse_other_encoding
from translator.corpus.reading.forms import unread_form
from translator.corpus.reading.lines import whole_lines
from translator.corpus.reading.packing import read_blocks
from translator.errors import CorpusError, InputError
from translator.run.files import storage_errors

LONGEST_LINE: Final = 4 << 20  # maximum bytes of a line, without its end; longer ones could exhaust memory
_BYTES_AT_ONCE: Final = 1 << 20  # read from a pipe


Lines = Iterator[str | None]
"""Lines as they are read. None asks to translate those so far now, because more may be long in coming."""


def read_lines(source: int | Path, column: str | None = None) -> Lines:
    r"""Yield the lines of a file, or those of a descriptor as they arrive; None where more may be long in coming.

    The text is in UTF-8, or in UTF-16 with a byte order mark, which is dropped; a file may also be compressed. A line
    ends at "\n" or "\r\n", or at "\r" if there is no "\n" (see `utf8_blocks`). U+FFFD stands for other bytes.

    Args:
        source: a file on disk, a named pipe, or a descriptor.
        column: name or number, for a table or JSON Lines on disk; each row gives one line (see `column_texts`).

    Raises:
        InputError: a line exceeds `LONGEST_LINE`; all lines before it have been yielded.
        CorpusError: the file is damaged, is no plain text, or is in another encoding.
        StorageError: the input cannot be read.
    """
    if isinstance(source, Path) and column is not None:
        yield from column_texts(source, column)
        return
    if isinstance(source, Path) and not source.is_file():  # a named pipe
        with source.open("rb") as pipe:
            yield from read_lines(pipe.fileno())
        return

    # 1. A file on disk may be compressed; what arrives at a descriptor is plain text.
    if isinstance(source, Path):
        label = str(source)
        name = source.name
        _refuse_unread_form(label, name)  # by the name first: `whole_lines` cannot read a binary form
        data_blocks = read_blocks(source)
    else:
        label = "the input"
        name = ""
        data_blocks = _arriving_blocks(source)

    number = 0  # of the last line that was read
    all_ascii = True  # whether all blocks so far are ASCII
    for data in whole_lines(data_blocks, label, LONGEST_LINE):  # one or more whole lines
        # 2. The start of a text shows its form. The first bytes that are not ASCII, or are NUL, show its encoding.
        if number == 0:
            _refuse_unread_form(label, name, data)
        if all_ascii and (not data.isascii() or b"\0" in data):
            refuse_other_encoding(data, label)
            all_ascii = False

        # 3. Decode the lines.
        for line in data.removesuffix(b"\n").split(b"\n"):
            line = line.removesuffix(b"\r")
            number += 1
            if len(line) > LONGEST_LINE:
                yield None  # what was read before is translated before the problem is reported
                raise InputError(
                    f"line {number} of the input is longer than {LONGEST_LINE >> 20} MiB; give text with one sentence, "
                    "or one paragraph, per line"
                )
            yield line.decode("utf-8", "replace").replace("\0", "\ufffd")
        if not isinstance(source, Path):
            yield None


def _refuse_unread_form(label: str, name: str, start: bytes = b"") -> None:
    """Raise CorpusError if the texts of a file stand between lines for programs."""
    form = unread_form(name, start)
    if form is not None:
        raise CorpusError(
            f"{label} is {form.kind}, and only plain text is translated one line at a time; {form.advice}"
        )


def _arriving_blocks(descriptor: int) -> Iterator[bytes]:
    """Yield blocks of bytes as they arrive.

    Reads the descriptor directly, in the calling thread: a file object would block until its buffer is full, and a
    reader thread would outlive a stop signal.
    """
    while True:
        with storage_errors("the input", "read"):
            select.select([descriptor], [], [])  # the descriptor may be non-blocking
            block = os.read(descriptor, _BYTES_AT_ONCE)
        if not block:
            return
        yield block
