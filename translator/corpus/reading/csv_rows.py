"""Rows of comma-separated values, from lines."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final

from translator.corpus.reading.cells import on_one_line
from translator.corpus.reading.lines import LONGEST_LINE, Unreadable, numbered_lines
from translator.corpus.reading.tables import SEPARATOR_LINE, Row

_DELIMITERS: Final = (",", ";", "\t")  # of equally suitable ones the first
_LINES_FOR_DELIMITER: Final = 100
_LINES_OF_ROW: Final = 100  # at most; a row with more lacks a quotation mark
_WITHOUT_END: Final = re.compile(r'"[^"]*+(?:""[^"]*+)*+\Z')  # a cell in quotation marks
_QUOTED: Final = re.compile('"[^"]*"')


def rows_of_csv(lines: Iterable[str], label: str, note: Callable[[str], None]) -> Iterator[Row]:
    r"""Yield the rows of comma-separated values (RFC 4180); the blank lines at the end are no rows.

    Semicolons or tabs may stand for the commas, or the sign that a first line such as "sep=|" names. A cell in
    quotation marks may have commas, line ends and doubled quotation marks; nothing may follow its last mark, and other
    cells have neither marks nor "\r". (Python's `csv` accepts marks there, so that the end of a broken cell may make a
    pair with the next row.) Each line of a broken row is a row without cells.

    Args:
        label: name of the text in messages.
        note: is called with a message on the first quotation mark without an end.
    """
    numbered = numbered_lines(lines)
    first_lines = list(islice(numbered, _LINES_FOR_DELIMITER))
    separator = SEPARATOR_LINE.fullmatch(first_lines[0][1]) if first_lines else None
    if separator is None:
        delimiter = _delimiter_of([line for _, line in first_lines])
    else:
        delimiter = separator[1]
        del first_lines[0]
    reader = _RowReader(_cell_pattern(delimiter), label, note)
    for number, line in chain(first_lines, numbered):
        yield from reader.read(number, line)
    yield from reader.give_up_row()


class _RowReader:
    """Joins lines into rows: a row goes on while a cell in quotation marks has no end."""

    def __init__(self, pattern: re.Pattern[str], label: str, note: Callable[[str], None]) -> None:
        self._pattern = pattern  # of a cell
        self._label = label
        self._note = note
        self._lines: list[tuple[int, str]] = []  # of the row that is not whole yet
        self._characters = 0  # of these lines
        self._noted_open_mark = False

    def read(self, number: int, line: str) -> Iterator[Row]:
        """Take the next line, and yield what it completes: a row, the lines of a broken row, or nothing."""
        # 1. A line that cannot be read ends a row.
        if isinstance(line, Unreadable):
            yield from self.give_up_row()
            yield Row(number, line, [])
            return

        # 2. Only a line with a quotation mark can end a cell that began on an earlier one.
        self._lines.append((number, line))
        self._characters += len(line)
        cells = None
        if len(self._lines) == 1 or '"' in line:
            text = "\n".join(row_line for _, row_line in self._lines)
            cells = _cells(text, self._pattern)
        may_go_on = len(self._lines) < _LINES_OF_ROW and self._characters < LONGEST_LINE
        if cells is None and may_go_on:
            return

        # 3. The row is whole, or broken.
        if cells:
            first_number, first_line = self._lines[0]
            self._begin_row()
            yield Row(first_number, first_line, cells)
        else:
            yield from self.give_up_row()

    def give_up_row(self) -> Iterator[Row]:
        """Yield a row without cells for each line of the row, which is broken, and name a mark that lacks its end."""
        if not self._noted_open_mark:
            open_line = _line_of_open_mark(self._lines, self._pattern)
            if open_line is not None:
                self._noted_open_mark = True
                self._note(f"{self._label}: the quotation mark opened on line {open_line} has no end")
        broken_lines = self._lines
        self._begin_row()
        for number, line in broken_lines:
            yield Row(number, line, [])

    def _begin_row(self) -> None:
        self._lines = []
        self._characters = 0


def _line_of_open_mark(row_lines: Sequence[tuple[int, str]], pattern: re.Pattern[str]) -> int | None:
    """Return the line with the quotation mark of a cell that has no end; None if the row has no such cell."""
    text = "\n".join(line for _, line in row_lines)
    place = 0
    while match := pattern.match(text, place):
        if not match[3]:
            return None
        place = match.end()
    if _WITHOUT_END.match(text, place) is None:
        return None
    first_number, _ = row_lines[0]
    return first_number + text.count("\n", 0, place)


def _delimiter_of(lines: list[str]) -> str:
    """Return the delimiter that cuts most of `lines` into the same number of cells, at least two."""
    texts = [_QUOTED.sub("", line) for line in lines]
    best_delimiter = _DELIMITERS[0]
    most_rows = 0
    for delimiter in _DELIMITERS:
        counts = Counter(text.count(delimiter) for text in texts if delimiter in text)
        rows = max(counts.values(), default=0)
        if rows > most_rows:
            best_delimiter = delimiter
            most_rows = rows
    return best_delimiter


def _cell_pattern(delimiter: str) -> re.Pattern[str]:
    """Return a pattern of a cell and of what ends it; its groups are quoted text, other text, and the end."""
    delimiter = re.escape(delimiter)
    return re.compile(rf'(?:"([^"]*+(?:""[^"]*+)*+)"|([^"\r\n{delimiter}]*+))({delimiter}|\Z)')


def _cells(text: str, pattern: re.Pattern[str]) -> list[str] | None:
    """Return the cells of a row, each on one line.

    None if the row may go on: its last cell in quotation marks has no end. Empty if the row is broken.
    """
    cells = []
    place = 0
    while match := pattern.match(text, place):
        quoted, plain, end = match.groups()
        cells.append(plain if quoted is None else on_one_line(quoted.replace('""', '"')))
        if not end:
            return cells
        place = match.end()
    return None if _WITHOUT_END.match(text, place) else []
