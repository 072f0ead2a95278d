"""Lines of texts, and pairs from two texts of parallel lines."""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import zip_longest
from typing import Final, NamedTuple

from translator.corpus.reading.encoding import encoding_advice, is_utf8, newline_blocks, utf8_blocks
from translator.errors import CorpusError

LONGEST_LINE: Final = 1 << 20  # bytes of a line without its end; longer lines are dropped
BAD_ROW: Final = "bad_row"  # the rule that drops a row, an object or a unit without the right form
LOW_SCORE: Final = "low_score"  # the rule that drops a pair whose score is below `min_score`
_BOM: Final = b"\xef\xbb\xbf"


class Unreadable(StrEnum):
    """Marks a line that could not be read; the value is the rule that drops its pair."""

    LINE_TOO_LONG = "line_too_long"
    INVALID_UTF8 = "invalid_utf8"


def whole_lines(blocks: Iterable[bytes], label: str, longest: int) -> Iterator[bytes]:
    r"""Yield a text as UTF-8, in parts of whole lines; only the last may lack its "\n". Memory stays flat.

    Of a line with more than `longest` bytes, "\r" not counted, only a beginning with more than `longest` bytes is kept.

    Args:
        blocks: bytes of the text in UTF-8, or in UTF-16 with a byte order mark.
        label: name of the text in messages.

    Raises CorpusError: the text is in another encoding, or no text (see `utf8_blocks`).
    """
    unfinished: list[bytes] = []  # parts of a line whose end has not arrived
    size = 0
    for block in newline_blocks(utf8_blocks(blocks, label)):
        end = block.rfind(b"\n") + 1
        if end:
            unfinished.append(block[:end])
            yield b"".join(unfinished)
            unfinished, size = [], 0
        if size <= longest + 2:  # enough to see that the line is too long
            line_start = block[end : end + longest + 2]
            unfinished.append(line_start)
            size += len(line_start)
    if size:
        yield b"".join(unfinished)


def read_lines(blocks: Iterable[bytes], label: str, *, drop_invalid: bool, advice: str = "") -> Iterator[str]:
    """Yield the lines of a text, with an `Unreadable` for each that cannot be read.

    A line ends as `newline_blocks` says; byte order marks at its start are dropped. Memory stays flat.

    Args:
        blocks: bytes of the text; see `whole_lines`.
        label: name of the text in messages.
        drop_invalid: mark a line that is not UTF-8, or has a NUL byte, instead of raising an error.
        advice: what else to do about such a line, for the message.

    Raises CorpusError: the text is in another encoding, or is none; the lines before an invalid one are yielded first.
    """
    number = 1  # of the first line not yet yielded
    for data in whole_lines(blocks, label, LONGEST_LINE):
        lines = _decode(data)
        if lines is None:
            lines = [_decode_line(line.removesuffix(b"\r")) for line in data.removesuffix(b"\n").split(b"\n")]
            invalid = [place for place, line in enumerate(lines) if line is Unreadable.INVALID_UTF8]
            if invalid and not drop_invalid:
                yield from lines[: invalid[0]]
                raise CorpusError(f"{label}, line {number + invalid[0]}: not UTF-8; {encoding_advice(data)}{advice}")
        yield from lines
        number += len(lines)


def _decode(data: bytes) -> list[str] | None:
    """Return the lines of `data`; None if one of them cannot be read."""
    if len(data) > LONGEST_LINE or b"\0" in data:  # a line may be too long
        return None
    try:
        # Searching for "\r" first is many times faster than searching for "\r\n".
        text = (data.removesuffix(b"\r").replace(b"\r\n", b"\n") if b"\r" in data else data).decode("utf-8")
    except UnicodeDecodeError:
        return None
    lines = text.removesuffix("\n").split("\n")
    return [line.lstrip("\ufeff") for line in lines] if _BOM in data else lines


def _decode_line(line: bytes) -> str:
    if len(line) > LONGEST_LINE:
        return Unreadable.LINE_TOO_LONG
    return line.decode("utf-8").lstrip("\ufeff") if is_utf8(line) else Unreadable.INVALID_UTF8


def numbered_lines(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers, from 1, without the blank lines at the end; a blank line becomes empty."""
    blank_lines = 0  # held back, because they may be the end
    for number, line in enumerate(lines, start=1):
        if not line or line.isspace():
            blank_lines += 1
            continue
        while blank_lines:
            yield number - blank_lines, ""
            blank_lines -= 1
        yield number, line


class Pair(NamedTuple):
    """One line of a parallel corpus, English and Persian, as read."""

    line: int  # 1-based, in its file
    source: str
    target: str
    defect: str | None = None  # the rule that drops a pair that cannot be used; it has text on one side at most


def pairs_of_sides(
    english: Iterable[str], persian: Iterable[str], label: str, side_labels: tuple[str, str]
) -> Iterator[Pair]:
    """Yield the pairs of two texts, without the blank lines at their ends.

    Args:
        english: lines, of which an `Unreadable` could not be read; `persian` likewise.
        label: name of the corpus in messages.
        side_labels: names of both texts.

    Raises CorpusError, at the end: one text has more lines, and one of these has text.
    """
    blank_lines = 0  # of both texts, held back, because they may be the end
    line_counts: list[int] | None = None  # of both texts, when one has ended
    rows = enumerate(zip_longest(english, persian), start=1)  # None after the end of a text
    for line, (source, target) in rows:
        # 1. One text has ended. Blank lines of the other are no mistake.
        if line_counts is None and (source is None or target is None):
            line_counts = [line - 1, line - 1]
        if (not source or source.isspace()) and (not target or target.isspace()):
            blank_lines += 1
            continue

        # 2. The other text goes on: the rest of it is counted for the message.
        if line_counts is not None:
            line_counts[0 if target is None else 1] = line + sum(1 for _ in rows)
            raise CorpusError(
                f"{label}: the two sides differ in length: {side_labels[0]} has {line_counts[0]:,} lines, "
                f"{side_labels[1]} has {line_counts[1]:,}; line N of both sides must be a pair, so get the corpus "
                "again or correct it"
            )

        # 3. A pair, after the blank lines before it, which are not the end.
        for blank_line in range(line - blank_lines, line):
            yield Pair(blank_line, "", "")
        blank_lines = 0
        if type(source) is str and type(target) is str:
            yield Pair(line, source, target)
        else:
            yield Pair(line, "", "", str(source if isinstance(source, Unreadable) else target))
