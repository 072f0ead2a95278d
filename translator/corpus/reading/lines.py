"""Lines of texts, and pairs from two texts of parallel lines."""

import codecs
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import zip_longest
from typing import Final, NamedTuple, TypeVar

from translator.corpus.reading.encoding import encoding_advice, utf8_blocks
from translator.errors import CorpusError

Item = TypeVar("Item")

LONGEST_LINE: Final = 1 << 20  # bytes of a line without its end; longer lines are dropped
BAD_ROW: Final = "bad_row"  # the rule that drops a row, an object or a unit without the right form
_BAD_SHARE: Final = 0.01  # of the rows; with more, it is another kind of file
_CHECKED_FROM: Final = 1000  # bad rows, with which the share is looked at before the end of a file
_NUMBERS_SHOWN: Final = 10
_UNUSUAL: Final = (b"\r", b"\0", codecs.BOM_UTF8)  # what is dropped from a line, or makes it unreadable


class Unreadable(StrEnum):
    """Marks a line that could not be read; the value is the rule that drops its pair."""

    LINE_TOO_LONG = "line_too_long"
    INVALID_UTF8 = "invalid_utf8"


def whole_lines(blocks: Iterable[bytes], label: str, longest: int) -> Iterator[bytes]:
    r"""Yield a text as UTF-8, in parts of whole lines; only the last may lack its "\n". Memory stays flat.

    Of a line that is too long, only a beginning is kept, with more than `longest` bytes.

    Args:
        blocks: bytes of the text in UTF-8, or in UTF-16 with a byte order mark.
        label: name of the text in messages.
        longest: bytes of a line without its end; one with more is too long.

    Raises CorpusError: the text is in another encoding, or no text (see `utf8_blocks`).
    """
    unfinished = b""  # the beginning of a line whose end has not arrived
    for block in utf8_blocks(blocks, label):
        data = unfinished + block
        end = data.rfind(b"\n") + 1
        if end:
            yield data[:end]
        # Two bytes more than the longest line: one shows that a line is too long, one may be the "\r" of its end.
        unfinished = data[end : end + longest + 2]
    if unfinished:
        yield unfinished


def read_lines(blocks: Iterable[bytes], label: str, *, drop_invalid: bool, advice: str = "") -> Iterator[str]:
    """Yield the lines of a text, with an `Unreadable` for each that cannot be read.

    A line ends as `utf8_blocks` says; byte order marks at its start are dropped. Memory stays flat.

    Args:
        blocks: bytes of the text; see `whole_lines`.
        label: name of the text in messages.
        drop_invalid: mark a line that is not UTF-8, or has a NUL byte, instead of raising an error.
        advice: what else to do about such a line, for the message.

    Raises CorpusError: the text is in another encoding, or is none; the lines before an invalid one are yielded first.
    """
    number = 0
    for data in whole_lines(blocks, label, LONGEST_LINE):
        # Parts without a long line and without unusual signs are decoded whole, which is many times faster. Nearly all
        # are so.
        if len(data) <= LONGEST_LINE and not any(sign in data for sign in _UNUSUAL):
            try:
                lines = data.decode("utf-8").removesuffix("\n").split("\n")
            except UnicodeDecodeError:  # a line is not UTF-8, so all are decoded one by one
                pass
            else:
                number += len(lines)
                yield from lines
                continue
        for line in data.removesuffix(b"\n").split(b"\n"):
            number += 1
            text = _decode(line.removesuffix(b"\r"))
            if text is Unreadable.INVALID_UTF8 and not drop_invalid:
                raise CorpusError(f"{label}, line {number}: not UTF-8; {encoding_advice(data)}{advice}")
            yield text


def _decode(line: bytes) -> str:
    """Return the text of a line, or an `Unreadable` for one that is too long or not UTF-8."""
    if len(line) > LONGEST_LINE:
        return Unreadable.LINE_TOO_LONG
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        return Unreadable.INVALID_UTF8
    return Unreadable.INVALID_UTF8 if "\0" in text else text.lstrip("\ufeff")


def numbered(items: Iterable[Item], is_blank: Callable[[Item], bool]) -> Iterator[tuple[int, Item]]:
    """Yield the items with their numbers, from 1, without the blank ones at the end."""
    # A blank item may belong to the end, so it is held back until one follows that is not blank.
    held_back: list[tuple[int, Item]] = []
    for number, item in enumerate(items, start=1):
        if is_blank(item):
            held_back.append((number, item))
            continue
        if held_back:
            yield from held_back
            held_back.clear()
        yield number, item


def is_blank(line: str | None) -> bool:
    """Return whether a line has no text, or is missing."""
    return not line or line.isspace()


def first_numbers(numbers: Sequence[int]) -> str:
    """Return the first ten numbers of lines for a message."""
    shown = ", ".join(f"{number:,}" for number in numbers[:_NUMBERS_SHOWN])
    return f"{shown}, …" if len(numbers) > _NUMBERS_SHOWN else shown


class Pair(NamedTuple):
    """One line of a parallel corpus, English and Persian, as read; no text has a "\\n"."""

    line: int  # 1-based, in its file
    source: str
    target: str
    defect: str | None = None  # the rule that drops a pair that cannot be used; it has text on one side at most


def pairs_of_sides(
    english: Iterable[str], persian: Iterable[str], label: str, side_labels: tuple[str, str]
) -> Iterator[Pair]:
    """Yield the pairs of two texts, without the blank lines at their ends.

    Args:
        english: lines; an `Unreadable` stands for one that could not be read. `persian` likewise.
        label: name of the corpus in messages.
        side_labels: names of both texts.

    Raises CorpusError, where one text ends: the other goes on, and not only with blank lines.
    """
    # The number of lines read of each side, for the message on unequal sides.
    line_counts = [0, 0]

    def counted(lines: Iterable[str], side: int) -> Iterator[str]:
        for line in lines:
            line_counts[side] += 1
            yield line

    # zip_longest gives None after the end of a text; `numbered` leaves out the end where both are blank or None.
    lines_of_both = zip_longest(counted(english, 0), counted(persian, 1))
    for line, (source, target) in numbered(lines_of_both, lambda texts: all(map(is_blank, texts))):
        # 1. One text has ended, and the other still has text, in this line or below.
        if source is None or target is None:
            deque(lines_of_both, maxlen=0)  # reads the remaining lines, which counts them
            raise CorpusError(
                f"{label}: the two sides differ in length: {side_labels[0]} has {line_counts[0]:,} lines, "
                f"{side_labels[1]} has {line_counts[1]:,}; line N of both sides must be a pair, so get the corpus "
                "again or correct it"
            )
        # 2. A pair. If a side could not be read, its mark is the defect of the pair.
        defects = [str(text) for text in (source, target) if isinstance(text, Unreadable)]
        yield Pair(line, "", "", defects[0]) if defects else Pair(line, source, target)


class RowCounts:
    """Counts the rows of a text. A few bad ones are left out; many mean another kind of file."""

    def __init__(self, label: str, advice: str, always_allowed: int = 0) -> None:
        """Take the name of the text and advice, for messages, and how many bad rows a text of any size may have."""
        self._label = label
        self._advice = advice
        self._always_allowed = always_allowed
        self._rows = 0
        self._bad_lines: list[int] = []

    def add(self, line: int, *, is_bad: bool) -> None:
        """Count a row; raise CorpusError if a large file has too many bad ones, before its end."""
        self._rows += 1
        if is_bad:
            self._bad_lines.append(line)
            if len(self._bad_lines) > _CHECKED_FROM:
                self.check()

    def check(self) -> None:
        """Raise CorpusError if all rows are bad, or more than 1% of them and more than are always allowed.

        It needs at least one row.
        """
        bad_count = len(self._bad_lines)
        allowed_count = max(self._always_allowed, _BAD_SHARE * self._rows)
        if bad_count < self._rows and bad_count <= allowed_count:
            return
        raise CorpusError(
            f"{self._label}, line {self._bad_lines[0]}: the row does not have the right form; {bad_count:,} of "
            f"{self._rows:,} rows are bad (lines {first_numbers(self._bad_lines)}), and 1% are allowed; "
            f"{self._advice}"
        )
