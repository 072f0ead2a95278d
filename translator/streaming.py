"""Translating as lines come: from a pipe, a line out for each line in, and from a person at a prompt."""

import codecs
import contextlib
import os
import select
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from translator.errors import InputError
from translator.storage import explain_os_error, storage_errors

if TYPE_CHECKING:  # at run time it would bring torch, and the command line's help is to come at once
    from translator.inference import Translator

LINES_AT_ONCE = 1024
"""Lines translated together at most."""
BYTES_AT_ONCE = 65_536
"""Bytes read at once at most, so that memory stays flat however long the input is."""
PROMPT = "en> "


def translate_stream(translator: "Translator", source: int, output: TextIO) -> None:
    """Write one translated line to `output` for each line that file descriptor `source` gives, in order.

    Lines that are there already are translated together; a line that comes alone is translated at once.

    Raises:
        InputError: a line is not UTF-8; the translations of all lines before it are written.
        StorageError: the input cannot be read or the output cannot be written.
        BrokenPipeError: the reader of `output` has gone.
    """
    first_line = 1
    for lines in _lines_as_they_come(source):
        texts, problem = _decode(lines, first_line)
        write_lines(output, translator.translate_lines(texts, first_line=first_line))
        if problem is not None:
            raise problem
        first_line += len(lines)


def translate_interactively(translator: "Translator") -> None:
    """Prompt for English on standard error and print Persian on standard output, until the input ends."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - importing it gives `input` a history and line editing
    sys.stderr.write("Type English and press Enter; Ctrl-D ends.\n")
    while True:
        try:
            text = _ask()
        except EOFError:
            sys.stderr.write("\n")
            return
        if text.strip():
            write_lines(sys.stdout, [translator.translate(text)])


def write_lines(output: TextIO, lines: Sequence[str]) -> None:
    """Write `lines` to the standard output, or what stands in its place, so that its reader has them on return.

    Raises:
        StorageError: the disk is full, or another reason why the output cannot be written.
        BrokenPipeError: the reader has gone.
    """
    try:
        output.writelines(f"{line}\n" for line in lines)
        output.flush()
    except BaseException as error:
        _discard(output)
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise explain_os_error(error, "standard output", "write") from error
        raise


def _discard(output: TextIO) -> None:
    """Give up what could not be written: at its exit the interpreter would wait for the reader, or complain again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, output.fileno())
    os.close(nowhere)


def _lines_as_they_come(source: int) -> Iterator[list[bytes]]:
    """Yield the lines that are there, in groups, without their "\\n" and without a byte order mark before the first.

    This reads the descriptor itself, in the calling thread: a file object would wait until its buffer is full, and a
    thread that waits for it in our stead would outlive a stop signal.
    """
    mark = codecs.BOM_UTF8
    unfinished: list[bytes] = []  # parts of a line that has no end yet; joined once, or long lines would take for ever
    while chunk := _read(source):
        *lines, rest = chunk.split(b"\n")
        if lines:
            lines[0] = b"".join([*unfinished, lines[0]]).removeprefix(mark)
            mark = b""
            unfinished.clear()
        unfinished.append(rest)
        for start in range(0, len(lines), LINES_AT_ONCE):
            yield lines[start : start + LINES_AT_ONCE]
    if last := b"".join(unfinished).removeprefix(mark):
        yield [last]


def _read(source: int) -> bytes:
    """Return what is there, after waiting for something to be there; nothing at the end of the input."""
    with storage_errors("standard input", "read"):
        select.select([source], [], [])  # some programs leave us an input that does not wait by itself
        return os.read(source, BYTES_AT_ONCE)


def _decode(lines: list[bytes], first_line: int) -> tuple[list[str], InputError | None]:
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


def _ask() -> str:
    """Return a line typed at the prompt, which appears on standard error.

    `input` offers history and editing only if it may prompt on standard output. So standard error takes its place
    while the person types, and a file that standard output goes to gets translations alone.
    """
    sys.stderr.flush()
    output = sys.stdout.fileno()
    kept = os.dup(output)
    os.dup2(sys.stderr.fileno(), output)
    try:
        return input(PROMPT)
    finally:
        os.dup2(kept, output)
        os.close(kept)
