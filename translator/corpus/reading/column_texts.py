"""The texts of one column of a table or of JSON Lines, one for each row, to be translated."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from translator.corpus.reading.columns import column_name
from translator.corpus.reading.forms import Form, TextFile, form_of
from translator.corpus.reading.lines import Pair
from translator.corpus.reading.tables import rows_of_lines, text_in
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
    """Yield the text of one column for each row of a TSV, CSV or JSON Lines file, on one line; "" for a blank row.

    Args:
        file: plain or compressed; its name tells its form.
        column: a name, for example `text` or `translation.en`, or a number from 1. For a number, the first line of a
            table is a row like others, not one with names.

    Raises CorpusError: the column is missing, or a row has no text in it.
    """
    text_file = TextFile(file)
    number = int(column) if column.isdecimal() else None
    for row in rows_of_lines(text_file.lines(), text_file.form(), has_names=number is None):
        # 1. A `Pair` stands for a line that is no row: it is blank, or has a defect.
        if isinstance(row, Pair):
            if row.defect is not None:
                raise CorpusError(
                    f"{file}, line {row.line}: it is no row as the others are; put a text with a delimiter in "
                    "quotation marks, or correct or remove the row"
                )
            yield ""
            continue

        # 2. A row has a text in the column.
        line, values = row
        # Numbers begin at 1, so "0" can only be a name.
        name = column_name(number or column, list(values), f"{file}, line {line}")
        text = text_in(values[name])
        if text is None:
            raise CorpusError(f"{file}, line {line}: the row has no text in column {column}; correct it, or remove it")
        yield text
