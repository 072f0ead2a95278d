"""Rows of comma-separated values, from lines."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final

from translator.corpus.cells import on_one_line
from translator.corpus.lines import LONGEST_LINE, Unreadable, numbered_lines
from translator.corpus.tables import Row

_DELIMITERS: Final = (",", ";", "\t")  # of equally suitable ones the first
_LINES_FOR_DELIMITER: Final = 100
_LINES_OF_ROW: Final = 100  # at most; a row with more lacks a quotation mark
_WITHOUT_END: Final = re.compile(r'"[^"]*+(?:""[^"]*+)*+\Z')  # a cell in quotation marks
_QUOTED: Final = re.compile('"[^"]*"')


def rows_of_csv(lines: Iterable[str], label: str, note: Callable[[str], None]) -> Iterator[Row]:
    r"""Yield the rows of comma-separated values (RFC 4180); the blank lines at the end are no rows.

    Semicolons or tabs may stand for the commas. A cell in quotation marks may have commas, line ends and doubled
    quotation marks; nothing may follow its last mark, and other cells have neither marks nor "\r". (Python's `csv`
    accepts marks there, so that the end of a broken cell may make a pair with the next row.) Each line of a broken row
    is a row without cells.

    Args:
        lines: of the text.
        label: name of the text in messages.
        note: is called with a message on the first quotation mark without an end.
    """
    numbered = numbered_lines(lines)
    first_lines = list(islice(numbered, _LINES_FOR_DELIMITER))
    pattern = _cell_pattern(_delimiter_of([line for _, line in first_lines]))
    row_lines: list[tuple[int, str]] = []
    characters = 0
    has_open_mark = False

    def broken_rows() -> Iterator[Row]:
        """Yield a row without cells for each line of the row, and name a quotation mark that lacks its end."""
        nonlocal has_open_mark
        open_line = _line_of_open_mark(row_lines, pattern)
        if open_line is not None and not has_open_mark:
            has_open_mark = True
            note(f"{label}: the quotation mark opened on line {open_line} has no end")
        for row_number, row_line in row_lines:
            yield Row(row_number, row_line, [])

    for number, line in chain(first_lines, numbered):
        # 1. A line that cannot be read ends a row.
        if isinstance(line, Unreadable):
            yield from broken_rows()
            row_lines = []
            yield Row(number, line, [])
            continue

        # 2. Read on as long as a cell in quotation marks has no end.
        row_lines.append((number, line))
        characters = characters + len(line) if len(row_lines) > 1 else len(line)
        if len(row_lines) > 1 and '"' not in line:
            cells = None
        else:
            cells = _cells("\n".join(row_line for _, row_line in row_lines), pattern)
        if cells is None and len(row_lines) < _LINES_OF_ROW and characters < LONGEST_LINE:
            continue

        # 3. The row is whole or broken.
        if cells:
            first_number, first_line = row_lines[0]
            yield Row(first_number, first_line, cells)
        else:
            yield from broken_rows()
        row_lines = []
    yield from broken_rows()


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
    return re.compile(rf'(?:"([^"]*+(?:""[^"]*+)*+)"|([^"\r\n{delimiter}]*+))({delimiter}|\Z)')


def _cells(text: str, pattern: re.Pattern[str]) -> list[str] | None:
    """Return the cells of a row, each on one line; None if the last has no end, nothing if the row is broken."""
    cells = []
    place = 0
    while match := pattern.match(text, place):
        quoted, plain, end = match.groups()
        cells.append(plain if quoted is None else on_one_line(quoted.replace('""', '"')))
        if not end:
            return cells
        place = match.end()
    return None if _WITHOUT_END.match(text, place) else []
