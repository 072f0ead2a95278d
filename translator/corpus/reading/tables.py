"""Rows of TSV, CSV and JSON Lines, as dictionaries by column, and the pairs that rows make.

In a stream of rows, a `Pair` stands for a line that is no row: it is blank, or has a defect.
"""

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Final

from translator.config import SourceConfig
from translator.corpus.reading.columns import columns_of, usual_columns
from translator.corpus.reading.forms import Form
from translator.corpus.reading.lines import BAD_ROW, Pair, Unreadable, is_blank, numbered
from translator.corpus.selecting.scripts import ARABIC_LETTER
from translator.corpus.sources import listing

NamedRow = tuple[int, dict[str, Any]]
"""The line of a row, from 1, and its values by the names of their columns; a field of a value is `translation.en`."""
CellRow = tuple[int, list[str]]
"""The line of a row of a TSV or CSV, from 1, and its cells."""

_LOW_SCORE: Final = "low_score"  # the rule that drops a pair whose score is below `min_score`
_FIRST_ROWS: Final = 1000  # which decide the columns
_PERSIAN_SHARE: Final = 0.9  # of the rows, with which a first row without Persian has names
_SEPARATOR_LINE: Final = re.compile(r'"?sep=(.)"?', re.IGNORECASE)  # tells Excel the delimiter of the next lines
_DELIMITERS: Final = (",", ";", "\t")  # of equally suitable ones the first
_LINES_FOR_DELIMITER: Final = 100
_LINES_OF_ROW: Final = 100  # at most; a row with more lacks a quotation mark
_LINE_END: Final = re.compile(r"\r*\n[\r\n]*")  # a "\r" elsewhere is a character like others


def rows_of_lines(lines: Iterable[str], form: Form, *, has_names: bool | None = None) -> Iterator[NamedRow | Pair]:
    """Yield the rows of a TSV, CSV or JSON Lines; a line that is no row gives a pair with its defect.

    The columns of a TSV or CSV have the names in its first row, or the numbers from 1. The number of columns is that of
    the cells in most of the first 1,000 rows; a line with another number of cells is no row.

    Args:
        has_names: whether the first row has names. None: it has names if its cells are usual ones (see
            `usual_columns`), or if it has no Persian and 90% of the other rows have some.
    """
    if form is Form.JSON_LINES:
        yield from objects_of(lines)
        return
    lines = ("" if is_blank(line) else line for line in lines)  # so a line of tabs alone is blank
    rows = _cells_of_csv(lines) if form is Form.CSV else cells_of_tsv(lines)
    first_rows = list(islice(rows, _FIRST_ROWS))
    rows_with_cells = [row for row in first_rows if not isinstance(row, Pair)]
    cells_of_rows = [cells for _, cells in rows_with_cells]

    # 1. The number of columns is the width of most rows; of equally frequent widths, the smallest. Rows of one cell
    # decide only if there are no others.
    rows_by_width = Counter(map(len, cells_of_rows))  # how many rows have a width
    width = min(rows_by_width, key=lambda width: (width == 1, -rows_by_width[width], width), default=0)

    # 2. The names of the columns: numbers, or those in the first row, which is then no row of texts.
    names = [str(number) for number in range(1, width + 1)]
    if has_names is None:
        has_names = bool(cells_of_rows) and len(cells_of_rows[0]) == width and _are_names(cells_of_rows)
    if has_names and cells_of_rows:
        names = _distinct(cells_of_rows[0])
        first_rows.remove(rows_with_cells[0])

    # 3. The values of each row by name. A row with more or fewer cells is no row.
    for row in chain(first_rows, rows):
        if isinstance(row, Pair):
            yield row
            continue
        line, cells = row
        if len(cells) == len(names):
            yield line, dict(zip(names, cells, strict=True))
        else:
            yield _pair_without_row(line, text_in("\t".join(cells)) or "")  # with its text, for the report


def _are_names(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first of the rows has names of columns."""
    if usual_columns(_distinct(rows[0])):
        return True
    # Names have no Persian, and nearly all rows of texts have.
    has_persian = [ARABIC_LETTER.search("\t".join(cells)) is not None for cells in rows]  # for each row
    return not has_persian[0] and sum(has_persian) >= max(1, _PERSIAN_SHARE * (len(rows) - 1))


def _distinct(cells: Sequence[str]) -> list[str]:
    """Return the names in the cells of a row; a repeated one becomes the number of its column."""
    names: list[str] = []
    for number, cell in enumerate(cells, start=1):
        name = cell.strip()
        names.append(str(number) if name in names else name)
    return names


def _pair_without_row(number: int, line: str) -> Pair:
    """Return the pair of a line that is no row: blank, unreadable, or without the right form."""
    if isinstance(line, Unreadable):
        return Pair(number, "", "", str(line))
    return Pair(number, line, "", None if is_blank(line) else BAD_ROW)


# --- TSV and CSV ---


def cells_of_tsv(lines: Iterable[str]) -> Iterator[CellRow | Pair]:
    """Yield the cells of each line, which have tabs between them; blank lines at the end are no rows."""
    for number, line in numbered(lines, is_blank):
        yield _pair_without_row(number, line) if isinstance(line, Unreadable) else (number, line.split("\t"))


def _cells_of_csv(lines: Iterable[str]) -> Iterator[CellRow | Pair]:
    """Yield the cells of each row of comma-separated values (RFC 4180); blank lines at the end are no rows.

    Semicolons or tabs may stand for the commas, or the sign that a first line such as "sep=|" names. A cell in
    quotation marks may have commas, line ends and doubled quotation marks. A row is broken if a cell does not end
    within a hundred lines; each line of a broken row gives a pair with a defect.
    """
    # The delimiter is what a first line names, else the sign that cuts the most rows to the same number of cells.
    numbered_lines = numbered(lines, is_blank)  # without the blank ones at the end
    first_lines = list(islice(numbered_lines, _LINES_FOR_DELIMITER))
    separator = _SEPARATOR_LINE.fullmatch(first_lines[0][1]) if first_lines else None
    if separator is None:
        delimiter = max(_DELIMITERS, key=lambda sign: _rows_of_one_width(first_lines, sign))
    else:
        delimiter = separator[1]
        del first_lines[0]
    yield from _split_rows(chain(first_lines, numbered_lines), delimiter)


def _rows_of_one_width(lines: Iterable[tuple[int, str]], delimiter: str) -> int:
    """Return how many of the rows in `lines` a delimiter cuts into the same number of cells, at least two."""
    widths = Counter(len(row[1]) for row in _split_rows(lines, delimiter) if not isinstance(row, Pair))
    del widths[1]  # rows that the delimiter does not cut
    return max(widths.values(), default=0)


def _split_rows(lines: Iterable[tuple[int, str]], delimiter: str) -> Iterator[CellRow | Pair]:
    """Yield the cells of each row in numbered lines, and a `Pair` for each line without one; see `_cells_of_csv`."""
    row_lines: list[tuple[int, str]] = []  # numbers and lines of the row that is not whole yet
    for number, line in lines:
        # 1. Split the row, as far as it has arrived. A cell that is still open goes on in the next line. A line that
        # could not be read breaks its row.
        row_lines.append((number, line))
        cells, has_open_cell = None, False
        if not isinstance(line, Unreadable):
            cells, has_open_cell = _split_row("\n".join(text for _, text in row_lines), delimiter)
        if has_open_cell and len(row_lines) < _LINES_OF_ROW:
            continue

        # 2. The row is whole, or broken: then it has no cells, and none of its lines is a row. A cell that is open
        # after `_LINES_OF_ROW` lines breaks its row, too.
        if cells is None:
            yield from (_pair_without_row(*row_line) for row_line in row_lines)
        else:
            first_number, _ = row_lines[0]
            yield first_number, cells
        row_lines = []

    # 3. A row that is still open at the end of the text is broken too.
    yield from (_pair_without_row(*row_line) for row_line in row_lines)


def _split_row(text: str, delimiter: str) -> tuple[list[str] | None, bool]:
    """Return the cells of a row of CSV, None if it is no row; and whether a cell in quotation marks lacks its end."""
    try:
        (cells,) = csv.reader([text], delimiter=delimiter, strict=True)
    except csv.Error as error:
        return None, str(error) == "unexpected end of data"
    # A text with a lone mark is the rest of a cell that lacks its beginning. The reader would take it for a row.
    has_lone_mark = text.count('"') % 2 == 1
    return (None if has_lone_mark else cells or [""]), False  # a blank line has one empty cell


# --- JSON Lines ---


def objects_of(lines: Iterable[str]) -> Iterator[NamedRow | Pair]:
    """Yield the values of the object on each line; a line without an object gives a pair with its defect."""
    for number, line in numbered(lines, is_blank):
        try:
            content = None if isinstance(line, Unreadable) else json.loads(line)
        except (ValueError, RecursionError):  # a number may be too long, and lists too deep
            content = None
        if isinstance(content, dict):
            yield number, flat(content)
        else:
            yield _pair_without_row(number, line)


def flat(content: dict[str, Any]) -> dict[str, Any]:
    """Return the values of an object by their names; `translation.en` is the value `en` of the object `translation`."""
    values: dict[str, Any] = {}
    for key, value in content.items():
        if isinstance(value, dict):
            values.update({f"{key}.{name}": inner for name, inner in flat(value).items()})
        else:
            values[key] = value
    return values


# --- the pairs of rows of any form ---


def pairs_of_rows(
    rows: Iterable[NamedRow | Pair], source: SourceConfig, label: str, note: Callable[[str], None]
) -> Iterator[Pair]:
    """Yield the pair of each row; one without both texts, or without the score that `min_score` asks for, has a defect.

    Args:
        rows: in order; the first 1,000 decide the columns. A pair stands for a line that is no row.
        source: with `source_column`, `target_column` and `min_score`.
        label: name of the table in messages.
        note: is called with a message on the columns that are read, unless the table has two columns without names,
            with English first.

    Raises CorpusError: see `columns_of`.
    """
    # 1. The columns of English, Persian and the score, by the first rows.
    rows = iter(rows)
    first_rows = list(islice(rows, _FIRST_ROWS))
    values_of_rows = [row[1] for row in first_rows if not isinstance(row, Pair)]
    if not values_of_rows:  # no line is a row, so the source is refused: too many rows are bad
        yield from (row for row in chain(first_rows, rows) if isinstance(row, Pair))
        return
    names = list(dict.fromkeys(chain.from_iterable(values_of_rows)))  # of all columns, each once, in order
    texts = [[text_in(values.get(name)) or "" for name in names] for values in values_of_rows]  # by row and column
    columns = columns_of(names, texts, source, label)
    english_column, persian_column, score_column = columns

    # 2. A note on the choice, except for a table of two columns without names, English first.
    if names != ["1", "2"] or english_column != "1":
        other_names = [name for name in names if name not in columns]
        not_read = f"; not read: {listing(other_names)}" if other_names else ""
        note(f"English is read from column {english_column}, Persian from column {persian_column}{not_read}")

    # 3. The pairs.
    for row in chain(first_rows, rows):
        if isinstance(row, Pair):
            yield row
            continue
        line, values = row
        english = text_in(values.get(english_column))
        persian = text_in(values.get(persian_column))
        if english is None or persian is None:
            yield Pair(line, english or persian or "", "", BAD_ROW)
        elif source.min_score is None or score_column is None:
            yield Pair(line, english, persian)
        else:
            # A pair with a defect keeps the text of one side, for the report.
            defect = _defect_of_score(values.get(score_column), source.min_score.at_least)
            yield Pair(line, english, "" if defect else persian, defect)


def text_in(value: Any) -> str | None:
    """Return the text of a value, or of the first value of a list, on one line; None if there is no usable text."""
    if isinstance(value, list) and value:  # ParsiNLU has lists of references
        value = value[0]
    if not isinstance(value, str) or "\0" in value or not _is_unicode(value):
        return None
    value = value.lstrip("\ufeff")
    return _LINE_END.sub(" ", value) if "\n" in value else value


def _is_unicode(text: str) -> bool:
    """Return whether a text has characters only, and no lone surrogate, which an escape of JSON may give."""
    try:
        text.encode()  # many times faster than a search
    except UnicodeEncodeError:
        return False
    return True


def _defect_of_score(value: Any, at_least: float) -> str | None:
    """Return the rule that drops a pair for its score, a number or a text; None if it is high enough."""
    try:
        score = float(value)
    except (TypeError, ValueError, OverflowError):
        return BAD_ROW
    if math.isnan(score):
        return BAD_ROW
    return _LOW_SCORE if score < at_least else None
