"""The texts of one column of a table or of JSON Lines, one for each row, to be translated."""

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Final

from translator.corpus.reading.cells import text_in
from translator.corpus.reading.columns import place_of_column
from translator.corpus.reading.csv_rows import rows_of_csv
from translator.corpus.reading.files import TextFile
from translator.corpus.reading.forms import Form, form_of
from translator.corpus.reading.json_lines import object_in, paths_in, value_at
from translator.corpus.reading.lines import Unreadable, numbered_lines, read_lines
from translator.corpus.reading.packing import read_blocks
from translator.corpus.reading.tables import Row, rows_of_tsv
from translator.errors import CorpusError, InputError
from translator.run.logging import LOGGER

_FORMS: Final = (Form.TSV, Form.CSV, Form.JSON_LINES)
_LINES_FOR_NAMES: Final = 1000  # first lines of JSON Lines, whose objects name the columns


def check_column(file: Path, column: str | None) -> None:
    """Raise InputError if `file` needs a column to be named, or has none."""
    form = form_of(file.name)
    if form in _FORMS and column is None:
        raise InputError(
            f"{file} is {form}: say which column is to be translated, by its name or number: --column NAME"
        )
    if form not in _FORMS and column is not None:
        raise InputError(
            f"--column {column} chooses a column of TSV, CSV or JSON Lines, and {file} is none; leave it out"
        )


def column_texts(file: Path, column: str) -> Iterator[str]:
    """Yield the text of one column for each row of a TSV, CSV or JSON Lines file, on one line; blank rows have none.

    Args:
        file: plain or compressed; its name tells its form.
        column: a name, for example `text` or `translation.en`; in a table also a number, from 1, if no line has names.

    Raises CorpusError: the column is missing, or a row has no text in it.
    """
    text_file = TextFile(file)
    form = text_file.form()
    lines = _readable_lines(file)
    if form is Form.JSON_LINES:
        yield from _texts_of_json_lines(lines, column, text_file.label)
        return
    rows = rows_of_csv(lines, text_file.label, LOGGER.warning) if form is Form.CSV else rows_of_tsv(lines)
    yield from _texts_of_table(rows, column, text_file.label)


def _readable_lines(file: Path) -> Iterator[str]:
    """Yield the lines of a file; raise CorpusError at one that is not UTF-8 or too long."""
    lines = chain.from_iterable(read_lines(read_blocks(file), str(file), drop_invalid=False))
    for number, line in enumerate(lines, start=1):
        if isinstance(line, Unreadable):
            raise CorpusError(f"{file}, line {number}: it is too long to be read; shorten it, or remove it")
        yield line


def _texts_of_table(rows: Iterator[Row], column: str, label: str) -> Iterator[str]:
    """Yield the texts of a column of a table; a name is looked for in the first row."""
    first_row = next(rows, None)
    if first_row is None:
        return
    names = [cell.strip() for cell in first_row.cells]
    width = len(names)
    if column.isdecimal() and column not in names:
        place = int(column) - 1
        if not 0 <= place < width:
            raise CorpusError(f"{label} has no column {column}: line {first_row.line} has {width}, numbered from 1")
        rows = chain([first_row], rows)
    else:
        place = place_of_column(column, names, label, "; if line 1 has no names, give a number, from 1")
    for row in rows:
        # A text with a comma and without quotation marks would lose its end.
        if row.text and len(row.cells) != width:
            raise CorpusError(
                f"{label}, line {row.line}: the row has {len(row.cells)} cells, and line {first_row.line} has {width}; "
                "put a text with a delimiter in quotation marks, or correct the row"
            )
        yield row.cells[place] if row.text else ""


def _texts_of_json_lines(lines: Iterator[str], column: str, label: str) -> Iterator[str]:
    """Yield the texts of a column of JSON Lines; `translation.en` is the value `en` in the object `translation`."""
    numbered = numbered_lines(lines)
    first_lines = list(islice(numbered, _LINES_FOR_NAMES))
    paths = paths_in(line for _, line in first_lines)
    path = paths[place_of_column(column, [".".join(path) for path in paths], label)]
    for number, line in chain(first_lines, numbered):
        content = object_in(line)
        text = None if content is None else text_in(value_at(content, path))
        if line and text is None:
            raise _no_text(label, number, column)
        yield text or ""


def _no_text(label: str, line: int, column: str) -> CorpusError:
    return CorpusError(f"{label}, line {line}: the row has no text in column {column}; correct it, or remove it")
