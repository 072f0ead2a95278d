"""What a line is, and how lines are read so that memory stays flat however long the input is.

A line ends at "\\n"; a "\\r" before it, and a byte order mark before the first line, belong to no line.
"""

import codecs
import hashlib
import os
import select
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from translator.errors import InputError
from translator.storage import storage_errors

LINES_AT_ONCE: Final = 1024
"""Lines translated together at most."""
LINES_AT_FIRST: Final = 64
"""Lines translated together at first, then twice as many each time: whoever waits for a beginning has it soon."""
BYTES_AT_ONCE = 65_536
"""Bytes read from a pipe at once at most."""
LONGEST_LINE = 4 << 20
"""Bytes of a line at most, without its "\\n": what is longer is no text, and to hold it would fill the memory."""
LINES_OF_A_CHUNK: Final = 512
BYTES_OF_A_CHUNK: Final = 1 << 20
"""Of a file, lines go in chunks of so many lines, or of fewer that have so many bytes."""
_BLOCK: Final = 1 << 20


class Chunk(NamedTuple):
    """Lines that follow one another."""

    first_line: int
    """Number of the first, from 1."""
    texts: list[str]
    end: int
    """Byte of the input after the last."""
    problem: InputError | None
    """What to say of the line after the last, where that one cannot be read."""


@dataclass(frozen=True)
class Survey:
    """What is known of a file before it is translated."""

    sha256: str
    lines: int
    size: int
    """Bytes."""


def lines_as_they_come(source: int) -> Iterator[list[bytes]]:
    """Yield the lines that are there, in groups, without their "\\n" and without a byte order mark before the first.

    This reads the descriptor itself, in the calling thread: a file object would wait until its buffer is full, and a
    thread that waits for it in our stead would outlive a stop signal.

    Raises:
        InputError: a line is longer than any text; all before it have been yielded.
        StorageError: the input cannot be read.
    """
    mark = codecs.BOM_UTF8
    unfinished: list[bytes] = []  # parts of a line that has no end yet; joined once, or long lines would take for ever
    size, number = 0, 1
    together = LINES_AT_FIRST
    while chunk := _read(source):
        *lines, rest = chunk.split(b"\n")
        if lines:
            if size + len(lines[0]) > LONGEST_LINE:
                raise _too_long(number)
            lines[0] = b"".join([*unfinished, lines[0]]).removeprefix(mark)
            mark = b""
            size = 0
            number += len(lines)
            unfinished.clear()
        unfinished.append(rest)
        size += len(rest)
        while lines:
            yield lines[:together]
            lines = lines[together:]
            together = min(2 * together, LINES_AT_ONCE)
        if size > LONGEST_LINE:
            raise _too_long(number)
    if last := b"".join(unfinished).removeprefix(mark):
        yield [last]


def _read(source: int) -> bytes:
    """Return what is there, after waiting for something to be there; nothing at the end of the input."""
    with storage_errors("standard input", "read"):
        select.select([source], [], [])  # some programs leave us an input that does not wait by itself
        return os.read(source, BYTES_AT_ONCE)


def decode(lines: list[bytes], first_line: int) -> tuple[list[str], InputError | None]:
    """Return the texts of `lines` up to the first that is not UTF-8, and what to say about that one."""
    texts: list[str] = []
    for number, line in enumerate(lines, first_line):
        try:
            texts.append(line.decode("utf-8").removesuffix("\r"))
        except UnicodeDecodeError as error:
            return texts, InputError(
                f"line {number} of the input is not UTF-8 (byte {error.start + 1} of the line); "
                "convert the input first, for example with iconv"
            )
    return texts, None


def chunks(file: BinaryIO, first_line: int = 1) -> Iterator[Chunk]:
    """Yield the lines of `file` in chunks, from where it stands, the same at every reading.

    Args:
        file: a file on disk.
        first_line: number of the line that is read first.

    Raises:
        StorageError: the file cannot be read.
    """
    with storage_errors("the input", "read"):
        while True:
            lines, whole = _lines_of_a_chunk(file)
            if first_line == 1 and lines:
                lines[0] = lines[0].removeprefix(codecs.BOM_UTF8)
            if whole and lines in ([], [b""]):  # nothing, or nothing but a byte order mark
                return
            texts, problem = decode([line.removesuffix(b"\n") for line in lines], first_line)
            first, first_line = first_line, first_line + len(lines)
            if not whole and problem is None:
                problem = _too_long(first_line)
            yield Chunk(first, texts, file.tell(), problem)
            if problem is not None:
                return


def _lines_of_a_chunk(file: BinaryIO) -> tuple[list[bytes], bool]:
    """Return the next lines, each with its "\n", and whether none after them is too long to be read."""
    lines: list[bytes] = []
    size = 0
    while len(lines) < LINES_OF_A_CHUNK and size < BYTES_OF_A_CHUNK and (line := file.readline(LONGEST_LINE + 1)):
        if len(line) > LONGEST_LINE and not line.endswith(b"\n"):
            return lines, False
        lines.append(line)
        size += len(line)
    return lines, True


def survey(path: Path) -> Survey:
    """Read the file at `path` once, and make sure that all of it is text.

    Raises:
        InputError: a line is not UTF-8, or longer than any text.
        StorageError: the file cannot be read.
    """
    whole = hashlib.sha256()
    lines = size = 0
    only_mark = False
    with storage_errors(path, "read"), path.open("rb") as file:
        while block := file.read(_BLOCK):
            if not block.endswith(b"\n"):
                block += file.readline(LONGEST_LINE + 1)
            if len(block) > LONGEST_LINE:
                for number, line in enumerate(block.split(b"\n"), lines + 1):
                    if len(line) > LONGEST_LINE:
                        raise _too_long(number)
            try:
                block.decode("utf-8")
            except UnicodeDecodeError:
                problem = decode(block.split(b"\n"), lines + 1)[1]
                assert problem is not None
                raise problem from None
            whole.update(block)
            lines += block.count(b"\n") + (not block.endswith(b"\n"))
            size += len(block)
            only_mark = size == len(codecs.BOM_UTF8) and block == codecs.BOM_UTF8
    return Survey(whole.hexdigest(), 0 if only_mark else lines, size)


def _too_long(number: int) -> InputError:
    return InputError(
        f"line {number} of the input is longer than {LONGEST_LINE >> 20} MiB, so it is no text; give text with one "
        "sentence, or one paragraph, a line"
    )
