"""Rows of TSV, CSV and JSON Lines, as dictionaries by column, and the pairs that rows make."""

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Final

from translator.config import SourceConfig
from translator.corpus.reading.columns import Columns, named_columns, unnamed_columns, usual_columns
from translator.corpus.reading.lines import BAD_ROW, LONGEST_LINE, LOW_SCORE, Pair, Unreadable, numbered_lines
from translator.corpus.selecting.scripts import ARABIC_LETTER
from translator.errors import CorpusError

Row = tuple[int, dict[str, Any]]
"""The line of a row, from 1, and its values by the names of their columns; a field of a value is `translation.en`."""
Cells = tuple[int, list[str]]
"""The line of a row of a TSV or CSV, from 1, and its cells."""

_FIRST_ROWS: Final = 1000  # which decide the columns
_PERSIAN_SHARE: Final = 0.9  # of the rows, with which a first row without Persian has names
_NO_NAMES: Final = "; line 1 has no such name; if the table has no line of names, give numbers, from 1"
_SEPARATOR_LINE: Final = re.compile(r'"?sep=(.)"?', re.IGNORECASE)  # tells Excel the delimiter of the next lines
_DELIMITERS: Final = (",", ";", "\t")  # of equally suitable ones the first
_LINES_FOR_DELIMITER: Final = 100
_LINES_OF_ROW: Final = 100  # at most; a row with more lacks a quotation mark
_UNUSABLE: Final = re.compile("[\0\ud800-\udfff]")  # lone surrogates are no characters
_LINE_END: Final = re.compile(r"\r*\n[\r\n]*")  # a "\r" elsewhere is a character like others


# --- TSV and CSV ---


def cells_of_tsv(lines: Iterable[str]) -> Iterator[Cells | Pair]:
    """Yield the cells of each line, which have tabs between them.

    A `sep=` first, and blank lines last, are no rows. A line that cannot be read gives a pair with its defect.
    """
    for number, line in numbered_lines(lines):
        if isinstance(line, Unreadable):
            yield _pair_without_row(number, line)
        elif number > 1 or not _SEPARATOR_LINE.fullmatch(line):
            yield number, line.split("\t")


def cells_of_csv(lines: Iterable[str]) -> Iterator[Cells | Pair]:
    """Yield the cells of each row of comma-separated values (RFC 4180); blank lines at the end are no rows.

    Semicolons or tabs may stand for the commas, or the sign that a first line such as "sep=|" names. A cell in
    quotation marks may have commas, line ends and doubled quotation marks. Each line of a broken row, and of a hundred
    lines in which a cell does not end, gives a pair with a defect.
    """
    numbered = numbered_lines(lines)
    first_lines = list(islice(numbered, _LINES_FOR_DELIMITER))
    separator = _SEPARATOR_LINE.fullmatch(first_lines[0][1]) if first_lines else None
    if separator is None:
        delimiter = _delimiter_of(first_lines)
    else:
        delimiter = separator[1]
        del first_lines[0]
    yield from _cells_between(chain(first_lines, numbered), delimiter)


def _delimiter_of(lines: Sequence[tuple[int, str]]) -> str:
    """Return the delimiter that cuts most of the rows in `lines` into the same number of cells, at least two."""
    best_delimiter = _DELIMITERS[0]
    most_rows = 0
    for delimiter in _DELIMITERS:
        rows = [row for row in _cells_between(lines, delimiter) if not isinstance(row, Pair)]
        widths = Counter(len(cells) for _, cells in rows if len(cells) > 1)
        rows_of_width = max(widths.values(), default=0)
        if rows_of_width > most_rows:
            best_delimiter = delimiter
            most_rows = rows_of_width
    return best_delimiter


def _cells_between(lines: Iterable[tuple[int, str]], delimiter: str) -> Iterator[Cells | Pair]:
    """Yield the cells of the rows in numbered lines; see `cells_of_csv`."""
    row_lines: list[tuple[int, str]] = []  # of the row that is not whole yet
    cells: list[str] | None = None
    is_open = False  # whether a cell in quotation marks goes on after these lines
    for number, line in lines:
        if isinstance(line, Unreadable):
            yield from _bad_lines(row_lines)
            yield _pair_without_row(number, line)
            row_lines = []
            continue
        row_lines.append((number, line))
        if len(row_lines) == 1 or '"' in line:
            text = "\n".join(row_line for _, row_line in row_lines)
            cells, is_open = _cells(text, delimiter)
        if is_open and len(row_lines) < _LINES_OF_ROW:
            continue
        if cells is None:
            yield from _bad_lines(row_lines)
        else:
            yield row_lines[0][0], cells
        row_lines = []
    yield from _bad_lines(row_lines)


def _cells(text: str, delimiter: str) -> tuple[list[str] | None, bool]:
    """Return the cells of a row of CSV, each on one line, None if it is no row; and whether a cell lacks its end."""
    try:
        (cells,) = csv.reader([text], delimiter=delimiter, strict=True)
    except csv.Error as error:
        return None, str(error) == "unexpected end of data"
    # The reader takes a lone mark for text, and so would make a pair of what remains of a cell without its beginning.
    if text.count('"') % 2:
        return None, False
    return [one_line(cell) for cell in cells] or [""], False


def _bad_lines(lines: Iterable[tuple[int, str]]) -> Iterator[Pair]:
    """Yield a pair with its defect for each line of a broken row."""
    for number, line in lines:
        yield _pair_without_row(number, line)


def _pair_without_row(number: int, line: str) -> Pair:
    """Return the pair of a line that is no row: blank, unreadable, or without the right form."""
    if isinstance(line, Unreadable):
        return Pair(number, "", "", str(line))
    return Pair(number, line, "", BAD_ROW if line else None)


def pairs_of_cells(
    rows: Iterable[Cells | Pair], source: SourceConfig, label: str, note: Callable[[str], None]
) -> Iterator[Pair]:
    """Yield the pairs of a TSV or CSV.

    The table has as many columns as most of its first 1,000 rows, at least two. A row with another number of columns
    gives a pair with the defect `BAD_ROW`. The first row is a line of names, and no pair, if it has the names that
    `source` gives or, without these, usual names (see `usual_columns`). So is a first row without Persian, if 90% of
    the others have Persian.

    Args:
        rows: in order; a pair stands for a line that is no row.
        source: with `source_column`, `target_column` and `min_score`.
        label: name of the table in messages.
        note: is called with a message on line 1 if it has names, and on the columns that are read or ignored.

    Raises CorpusError: a column that `source` names is missing, or no two columns remain beside the scores.
    """
    # 1. The columns, which the first rows decide.
    rows = iter(rows)
    first_rows = list(islice(rows, _FIRST_ROWS))
    width = _width([row[1] for row in first_rows if not isinstance(row, Pair)])
    columns, names = _columns_of(first_rows, width, source, label)
    if names is not None:
        del first_rows[0]
        note(f"line 1 has names; the columns {columns.listing()} are read")
    else:
        names = [str(number) for number in range(1, width + 1)]
        _note_numbers(columns, width, note)

    # 2. The pairs.
    english_place = names.index(columns.english)
    persian_place = names.index(columns.persian)
    score_place = None if columns.score is None else names.index(columns.score)
    for row in chain(first_rows, rows):
        if isinstance(row, Pair):
            yield row
            continue
        line, cells = row
        if len(cells) == width:
            score = None if score_place is None else cells[score_place]
            yield _pair_of(line, cells[english_place], cells[persian_place], score, source)
        else:
            yield _pair_without_row(line, "\t".join(cells))


def _width(rows: Sequence[Sequence[str]]) -> int:
    """Return the number of columns that most `rows` have, at least two; of equally frequent numbers the smallest."""
    counts = Counter(len(cells) for cells in rows if len(cells) > 1)
    if not counts:
        return 2
    return min(counts, key=lambda width: (-counts[width], width))


def _columns_of(
    first_rows: Sequence[Cells | Pair], width: int, source: SourceConfig, label: str
) -> tuple[Columns, list[str] | None]:
    """Return the columns of a table, and the names of all columns if its first row has them; see `pairs_of_cells`."""
    whole_rows = [row for row in first_rows if not isinstance(row, Pair) and len(row[1]) == width]
    cells = [row[1] for row in whole_rows]
    first_row = first_rows[0] if first_rows else None
    if first_row is not None and not isinstance(first_row, Pair):
        names = _usual_names(first_row[1], width, source, label)
        if names is not None:
            return named_columns(names, source, label, absence=_NO_NAMES), names
    columns = unnamed_columns(cells, width, source, label)

    # Other names show by the texts below them.
    english, persian = int(columns.english) - 1, int(columns.persian) - 1
    if not whole_rows or whole_rows[0] is not first_row or not _begins_with_names(cells, english, persian):
        return columns, None
    names = _distinct(cells[0])
    score = None if columns.score is None else names[int(columns.score) - 1]
    return Columns(english=names[english], persian=names[persian], score=score), names


def _note_numbers(columns: Columns, width: int, note: Callable[[str], None]) -> None:
    """Call `note` with the columns that are read of a table without names, if they are not its only two."""
    message = f"English is read from column {columns.english}, Persian from column {columns.persian}"
    if columns == Columns("1", "2", None):
        if width == 2:
            return
        message += "; the third column is not read" if width == 3 else f"; columns 3 to {width} are not read"
    note(message)


def _usual_names(cells: Sequence[str], width: int, source: SourceConfig, label: str) -> list[str] | None:
    """Return the names of the columns, if the first row has usual ones; raise CorpusError if `source` needs them."""
    names = _distinct(cells)
    given_columns = [source.source_column, source.target_column, source.min_score and source.min_score.column]
    needs_names = any(isinstance(column, str) for column in given_columns)
    if not needs_names and usual_columns(names, label) is None:
        return None
    if len(cells) != width:
        raise CorpusError(
            f"{label}: line 1 has the names of {len(cells)} columns, and most rows have {width}; correct line 1, or "
            "give columns by their numbers, from 1"
        )
    return names


def _distinct(cells: Sequence[str]) -> list[str]:
    """Return the names in the cells of a row; a repeated one becomes the number of its column."""
    names: list[str] = []
    for number, cell in enumerate(cells, start=1):
        name = cell.strip()
        names.append(str(number) if name in names else name)
    return names


def _begins_with_names(rows: Sequence[Sequence[str]], english: int, persian: int) -> bool:
    """Return whether the first row has text without Persian, and 90% of the others have Persian in its column."""
    first_english, first_persian = rows[0][english].strip(), rows[0][persian].strip()
    if not first_english or not first_persian or ARABIC_LETTER.search(first_persian):
        return False
    persian_texts = [cells for cells in rows[1:] if ARABIC_LETTER.search(cells[persian])]
    return len(persian_texts) > 0 and len(persian_texts) >= _PERSIAN_SHARE * (len(rows) - 1)


# --- JSON Lines ---


def pairs_of_json_lines(
    lines: Iterable[str], source: SourceConfig, label: str, note: Callable[[str], None]
) -> Iterator[Pair]:
    """Yield the pairs of JSON Lines, one object on each line; the blank lines at the end are no pairs.

    The objects on the first 1,000 lines decide the columns. A line that is no object, or whose object has no text for a
    side, gives a pair with the defect `BAD_ROW`. See `pairs_of_cells` for the arguments.

    Raises CorpusError: these objects do not have the columns of a pair.
    """
    rows = objects_of(lines)
    first_rows = list(islice(rows, _FIRST_ROWS))
    names: dict[str, None] = {}  # of all columns, in the order of their first occurrence
    for row in first_rows:
        if not isinstance(row, Pair):
            names.update(dict.fromkeys(row[1]))
    if not names:
        yield from (row for row in chain(first_rows, rows) if isinstance(row, Pair))
        return
    columns = named_columns(list(names), source, label)
    note_other_columns(columns, names, note)
    yield from pairs_of_rows(chain(first_rows, rows), columns, source)


def objects_of(lines: Iterable[str]) -> Iterator[Row | Pair]:
    """Yield the values of the object on each line; a line without an object gives a pair with its defect."""
    for number, line in numbered_lines(lines):
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


# --- rows of any form ---


def note_other_columns(columns: Columns, names: Iterable[str], note: Callable[[str], None]) -> None:
    """Call `note` with the columns that are read, if a table has others."""
    if set(names) - set(columns):
        note(f"the columns {columns.listing()} are read")


def pairs_of_rows(rows: Iterable[Row | Pair], columns: Columns, source: SourceConfig) -> Iterator[Pair]:
    """Yield the pair of each row; one without usable texts, or with a low score or none, has a defect.

    Args:
        rows: in order; a pair stands for a line that is no row.
        columns: which of the values are the texts and the score.
        source: with `min_score`.
    """
    for row in rows:
        if isinstance(row, Pair):
            yield row
            continue
        line, values = row
        english = text_in(values.get(columns.english))
        persian = text_in(values.get(columns.persian))
        if english is None or persian is None:
            yield Pair(line, english or persian or "", "", BAD_ROW)
        else:
            score = None if columns.score is None else values.get(columns.score)
            yield _pair_of(line, english, persian, score, source)


def _pair_of(line: int, english: str, persian: str, score: Any, source: SourceConfig) -> Pair:
    """Return a pair; one with too long a text, or whose `score` is too low or no number, has a defect."""
    if max(len(english), len(persian)) > LONGEST_LINE // 4:  # a character has at most four bytes
        longest = max(len(english.encode()), len(persian.encode()))
        if longest > LONGEST_LINE:
            return Pair(line, "", "", str(Unreadable.LINE_TOO_LONG))
    if source.min_score is None:
        return Pair(line, english, persian)
    number = _score_in(score)
    if number is None:
        return Pair(line, english, "", BAD_ROW)
    if number < source.min_score.at_least:
        return Pair(line, english, "", LOW_SCORE)
    return Pair(line, english, persian)


def text_in(value: Any) -> str | None:
    """Return the text of a value on one line, of a list the first text; None if it has none."""
    # ParsiNLU has lists of references.
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, str) or _UNUSABLE.search(value):
        return None
    return one_line(value.lstrip("\ufeff"))


def one_line(text: str) -> str:
    """Return `text` with a space for each of its line ends."""
    return _LINE_END.sub(" ", text) if "\n" in text else text


def _score_in(value: Any) -> float | None:
    """Return the score that a number or a text gives; None if it is no number."""
    try:
        score = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if math.isnan(score) else score
