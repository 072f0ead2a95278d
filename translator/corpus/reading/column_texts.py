"""The texts of one column of a table or of JSON Lines, one for each row, to be translated."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from translator.corpus.reading.columns import column_name
from translator.corpus.reading.forms import Form, TextFile, form_of
from translator.corpus.reading.lines import Pair, read_lines
from translator.corpus.reading.tables import Cells, cells_of_csv, cells_of_tsv, objects_of, text_in
from translator.errors import CorpusError, InputError

_FORMS: Final = (Form.TSV, Form.CSV, Form.JSON_LINES)


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
    parts = read_lines(text_file.blocks(), text_file.label, drop_invalid=False)
    lines = (line for part in parts for line in part)
    if form is not Form.JSON_LINES:
        yield from _texts_of_cells(cells_of_csv(lines) if form is Form.CSV else cells_of_tsv(lines), column, file)
        return
    for row in objects_of(lines):
        if isinstance(row, Pair):
            _refuse_bad_row(row, file)
            yield ""
            continue
        line, values = row
        text = text_in(values[column_name(column, list(values), f"{file}, line {line}")])
        if text is None:
            raise CorpusError(f"{file}, line {line}: the row has no text in column {column}; correct it, or remove it")
        yield text


def _texts_of_cells(rows: Iterator[Cells | Pair], column: str, file: Path) -> Iterator[str]:
    """Yield the texts of a column of a table; a name is looked for in the first row."""
    place: int | None = None
    width = 0
    first_line = 0
    for row in rows:
        if isinstance(row, Pair):
            _refuse_bad_row(row, file)
            yield ""
            continue
        line, cells = row
        # 1. The first row may have names.
        if place is None:
            names = [cell.strip() for cell in cells]
            width = len(names)
            first_line = line
            if column in names or not column.isdecimal():
                place = names.index(column_name(column, names, str(file), "; if line 1 has no names, give a number"))
                continue
            place = int(column) - 1
            if not 0 <= place < width:
                raise CorpusError(f"{file} has no column {column}: line {line} has {width}, numbered from 1")

        # 2. A text with a delimiter and without quotation marks would lose its end.
        if any(cells) and len(cells) != width:
            raise CorpusError(
                f"{file}, line {line}: the row has {len(cells)} cells, and line {first_line} has {width}; put a text "
                "with a delimiter in quotation marks, or correct the row"
            )
        yield cells[place] if any(cells) else ""


def _refuse_bad_row(row: Pair, file: Path) -> None:
    """Raise CorpusError if a line that is no row is not merely blank."""
    if row.defect is not None:
        raise CorpusError(f"{file}, line {row.line}: it is no row ({row.defect}); correct it, or remove it")
