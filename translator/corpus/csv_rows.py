"""Rows of comma-separated values, from lines; a broken row costs only its own lines."""

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from translator.corpus.lines import LONGEST_LINE, Unreadable, numbered_lines
from translator.corpus.tables import Row

_DELIMITERS: Final = (",", ";", "\t")  # of equally suitable ones the first
_LINES_FOR_DELIMITER: Final = 100
_LINES_OF_ROW: Final = 1000  # at most; a row with more lacks a quotation mark
_QUOTED: Final = re.compile('"[^"]*"')


def rows_of_csv(lines: Iterable[str]) -> Iterator[Row]:
    """Yield the rows of comma-separated values (RFC 4180); the blank lines at the end are no rows.

    Semicolons or tabs may stand for the commas. A cell in quotation marks may have commas, line ends and doubled
    quotation marks. A line that begins no such row is a row without cells, and the next line begins another row.
    (Python's `csv` reads on to the next quotation mark, and may so join the halves of two pairs.)
    """
    numbered = numbered_lines(lines)
    waiting = deque(islice(numbered, _LINES_FOR_DELIMITER))
    cell_pattern = _cell_pattern(_delimiter_of([line for _, line in waiting]))
    while True:
        # 1. Take lines as long as a cell in quotation marks has no end.
        row_lines: list[tuple[int, str]] = []
        characters = 0
        quotation_marks = 0
        while not row_lines or quotation_marks % 2 == 1:
            if not waiting:
                waiting.extend(islice(numbered, 1))
            is_too_long = len(row_lines) == _LINES_OF_ROW or characters > LONGEST_LINE
            if not waiting or is_too_long or (row_lines and isinstance(waiting[0][1], Unreadable)):
                break
            number, line = waiting.popleft()
            row_lines.append((number, line))
            characters += len(line)
            quotation_marks += line.count('"')
        if not row_lines:
            return

        # 2. Cut them into cells. If they are no row, only the first line is given up.
        first_number, first_line = row_lines[0]
        if isinstance(first_line, Unreadable):
            yield Row(first_number, first_line, [])
            continue
        cells = _cells("\n".join(line for _, line in row_lines), cell_pattern)
        yield Row(first_number, first_line, cells)
        if not cells:
            waiting.extendleft(reversed(row_lines[1:]))


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
    return re.compile(rf'(?:"([^"]*+(?:""[^"]*+)*+)"|([^"\n{delimiter}]*+))({delimiter}|\Z)')


def _cells(text: str, pattern: re.Pattern[str]) -> list[str]:
    """Return the cells of a row, each on one line; none if the row does not have the right form."""
    cells = []
    place = 0
    while match := pattern.match(text, place):
        quoted, plain, end = match.groups()
        cells.append(plain if quoted is None else quoted.replace('""', '"').replace("\n", " "))
        if not end:
            return cells
        place = match.end()
    return []
