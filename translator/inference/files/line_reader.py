"""Lines read from files and pipes in chunks: as they arrive, checked, and numbered from 1."""

import os
import re
import select
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from translator.corpus.reading.column_texts import column_texts
from translator.corpus.reading.encoding import is_utf8, refuse_other_encoding
from translator.corpus.reading.forms import unread_form
from translator.corpus.reading.lines import whole_lines
from translator.corpus.reading.packing import read_blocks
from translator.errors import CorpusError, InputError
from translator.run.files import storage_errors

LONGEST_LINE = 4 << 20  # maximum bytes of a line, without its end; longer ones could exhaust memory
_QUOTE: Final = re.compile(r"(?:\s*+>)*")  # of a mail
_ITEM: Final = re.compile(r"(?:[-*+•]|\d{1,3}[.)]|#{1,6})\s|\|")  # of a list, a heading, a row of a table
_HEADING: Final = re.compile(r"\s*#{1,6}\s")


class Pace(NamedTuple):
    """The number of lines translated together, and of bytes read at once."""

    at_first: int  # lines of the first chunk; doubled for each later one, so that first results come early
    at_most: int
    bytes: int


PIPE = Pace(at_first=256, at_most=2048, bytes=1 << 20)
FILE = Pace(at_first=512, at_most=512, bytes=1 << 20)


class Chunk(NamedTuple):
    """Consecutive lines."""

    first_line: int  # number of the first, from 1
    texts: list[str]
    invalid: list[int]  # numbers of lines that were not UTF-8; U+FFFD stands for their invalid bytes


def read_lines(
    source: int | Path,
    pace: Pace = PIPE,
    column: str | None = None,
    *,
    paragraphs: bool = False,
) -> Iterator[Chunk]:
    r"""Yield the lines of a file, or of a descriptor as they arrive; a file on disk gives the same chunks each time.

    The text is in UTF-8, or in UTF-16 with a byte order mark, which is dropped; a file may also be compressed. A line
    ends at "\n" or "\r\n", or at "\r" if there is no "\n" (see `newline_blocks`).

    Args:
        source: a file on disk, or a descriptor.
        pace: how many lines and bytes a chunk has.
        column: name or number, for a table or JSON Lines on disk; each row gives one line (see `column_texts`).
        paragraphs: join consecutive lines, up to a blank one, with spaces into one line; blank lines stay.

    Raises:
        InputError: a line exceeds `LONGEST_LINE`; all lines before it have been yielded.
        CorpusError: the file is damaged, is no plain text, or is in another encoding.
        StorageError: the input cannot be read.
    """
    chunks = _chunks(source, pace, column)
    return _joined_paragraphs(chunks) if paragraphs else chunks


def _chunks(source: int | Path, pace: Pace, column: str | None) -> Iterator[Chunk]:
    """Yield the lines of a file or a descriptor; see `read_lines`."""
    if column is not None:
        assert isinstance(source, Path)
        yield from _chunks_of_column(source, column, pace.at_first)
        return
    # A file on disk may be compressed; what arrives at a descriptor is plain text.
    if isinstance(source, Path):
        label = str(source)
        name = source.name
        _refuse_unread_form(label, name)  # some are binary, and no text for `whole_lines`
        blocks = read_blocks(source, size=pace.bytes)
    else:
        label = "the input"
        name = ""
        blocks = _arriving_blocks(source, pace.bytes)
    line_number = 1
    chunk_size = pace.at_first
    all_ascii = True
    for data in whole_lines(blocks, label, LONGEST_LINE):
        if line_number == 1:
            _refuse_unread_form(label, name, data)
        # The first characters beyond ASCII show whether the text is UTF-8.
        if all_ascii and (not data.isascii() or b"\0" in data):
            refuse_other_encoding(data, label)
            all_ascii = False
        lines = data.removesuffix(b"\n").split(b"\n")
        while lines:
            chunk_lines = lines[:chunk_size]
            yield from _decoded(line_number, chunk_lines)
            line_number += len(chunk_lines)
            lines = lines[chunk_size:]
            chunk_size = min(2 * chunk_size, pace.at_most)


def _refuse_unread_form(label: str, name: str, start: bytes = b"") -> None:
    """Raise CorpusError if the texts of a file stand between lines for programs."""
    form = unread_form(name, start)
    if form is not None:
        raise CorpusError(
            f"{label} is {form.kind}, and only plain text is translated, one line at a time; with the Translate "
            f"Toolkit, write its texts to a table (`{form.to_csv}`), and translate that with --column source"
        )


def _chunks_of_column(file: Path, column: str, chunk_size: int) -> Iterator[Chunk]:
    texts: list[str] = []
    first_line = 1
    for text in column_texts(file, column):
        texts.append(text)
        if len(texts) == chunk_size:
            yield Chunk(first_line=first_line, texts=texts, invalid=[])
            first_line += chunk_size
            texts = []
    if texts:
        yield Chunk(first_line=first_line, texts=texts, invalid=[])


def _joined_paragraphs(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Yield `chunks` with the lines of each paragraph, up to a blank line, joined by spaces into one line.

    A list item, a heading, a row of a table and a quotation at another level begin a line; the marks of a quotation
    stay only before its first line. The lines are numbered anew; `invalid` has the numbers in the input.

    Raises InputError: a paragraph exceeds `LONGEST_LINE`.
    """
    first_line = 1
    paragraph: list[str] = []  # the lines of one that has not ended
    level = 0  # of its quotation
    invalid: list[int] = []
    for chunk in chunks:
        invalid += chunk.invalid
        texts: list[str] = []
        for line in chunk.texts:
            quote = _QUOTE.match(line)
            marks = quote[0] if quote else ""
            words = line[len(marks) :].strip()
            begins = marks.count(">") != level or _ITEM.match(words) or (paragraph and _HEADING.match(paragraph[0]))
            if paragraph and (begins or not words):
                texts.append(" ".join(paragraph))
                paragraph = []
            if words:
                paragraph.append(words if paragraph else line.rstrip())
                level = marks.count(">")
            else:
                texts.append(marks)
        if sum(map(len, paragraph)) > LONGEST_LINE:
            raise InputError(
                f"a paragraph before line {chunk.first_line + len(chunk.texts)} of the input is longer than "
                f"{LONGEST_LINE >> 20} MiB; put a blank line between paragraphs, or leave out --paragraphs"
            )
        if texts:
            yield Chunk(first_line=first_line, texts=texts, invalid=invalid)
            first_line += len(texts)
            invalid = []
    if paragraph:
        yield Chunk(first_line=first_line, texts=[" ".join(paragraph)], invalid=invalid)


def joined_chunks(chunks: Iterable[Chunk], line_count: int) -> Iterator[Chunk]:
    """Join consecutive chunks until each has at least `line_count` lines; the last may have fewer."""
    first_line = 1
    texts: list[str] = []
    invalid: list[int] = []
    for chunk in chunks:
        if not texts:
            first_line = chunk.first_line
        texts += chunk.texts
        invalid += chunk.invalid
        if len(texts) >= line_count:
            yield Chunk(first_line=first_line, texts=texts, invalid=invalid)
            texts = []
            invalid = []
    if texts:
        yield Chunk(first_line=first_line, texts=texts, invalid=invalid)


def _arriving_blocks(descriptor: int, size: int) -> Iterator[bytes]:
    """Yield blocks of at most `size` bytes as they arrive.

    Reads the descriptor directly, in the calling thread: a file object would block until its buffer is full, and a
    reader thread would outlive a stop signal.
    """
    while True:
        with storage_errors("the input", "read"):
            select.select([descriptor], [], [])  # the descriptor may be non-blocking
            block = os.read(descriptor, size)
        if not block:
            return
        yield block


def _decoded(first_line: int, lines: list[bytes]) -> Iterator[Chunk]:
    """Yield the text of `lines`, which may end in "\\r"; see `read_lines`."""
    texts: list[str] = []
    invalid: list[int] = []
    problem = ""
    for number, raw_line in enumerate(lines, first_line):
        line = raw_line.removesuffix(b"\r")
        if len(line) > LONGEST_LINE:
            problem = (
                f"line {number} of the input is longer than {LONGEST_LINE >> 20} MiB; give text with one sentence, or "
                "one paragraph, per line"
            )
            break
        text = line.decode("utf-8", "replace").replace("\0", "\ufffd")
        # A line may hold U+FFFD itself, so the bytes decide whether it was invalid.
        if "\ufffd" in text and not is_utf8(line):
            invalid.append(number)
        texts.append(text)
    # What was read before a problem is translated before the problem is reported.
    if texts:
        yield Chunk(first_line=first_line, texts=texts, invalid=invalid)
    if problem:
        raise InputError(problem)
