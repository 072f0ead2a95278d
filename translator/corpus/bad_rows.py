"""Rows and units of a corpus that do not have the right form: a few are dropped, many mean another kind of file."""

from typing import Final

from translator.config import SourceConfig
from translator.corpus.file_forms import Form
from translator.corpus.remarks import Remarks
from translator.errors import CorpusError

_BAD_SHARE: Final = 0.01  # of the rows; with more, it is another kind of file
_ALWAYS_ALLOWED: Final = 3  # bad rows of a file of any size
_CHECKED_FROM: Final = 1000  # bad rows, with which the share is looked at before the end of a file
_BAD_ROWS_SHOWN: Final = 5
_ROW_FORMS: Final = {
    Form.TSV: "a row needs English, a tab and Persian, and as many columns as the other rows",
    Form.CSV: (
        "a row needs as many cells as the other rows; a cell with quotation marks must be in quotation marks, with its "
        "own doubled"
    ),
    Form.JSON_LINES: "a line needs one JSON object with a text for each side",
    Form.PARQUET: "a row needs a text for each side",
    Form.TMX: "the unit of a TMX needs to be well-formed XML, without control characters",
}
"""What a row or unit of each form must be."""


class BadRowCounter:
    """Counts the rows and units of a corpus that do not have the right form, and refuses too many."""

    def __init__(self, label: str, form: Form, source: SourceConfig, remarks: Remarks) -> None:
        self._label = label
        self._requirement = _ROW_FORMS[form]
        if source.min_score is not None:
            self._requirement += f", and a score that is a number in column `{source.min_score.column}`"
        self._remarks = remarks
        self._unit = "row" if form is Form.PARQUET else "line"
        self._bad_rows = 0
        self._first_lines: list[int] = []

    def add(self, line: int, rows: int) -> None:
        """Count a bad row, the last of `rows`; raise CorpusError for far too many."""
        self._bad_rows += 1
        if len(self._first_lines) < _BAD_ROWS_SHOWN:
            self._first_lines.append(line)
        # A large file of another kind is refused before its end.
        if self._bad_rows > _CHECKED_FROM:
            self.refuse_too_many(rows)

    def refuse_too_many(self, rows: int) -> None:
        """Raise CorpusError if more than 1% of `rows`, and more than three, are bad, or all of them."""
        if self._bad_rows < rows and self._bad_rows <= max(_ALWAYS_ALLOWED, _BAD_SHARE * rows):
            return
        numbers = ", ".join(map(str, self._first_lines))
        more = ", …" if self._bad_rows > _BAD_ROWS_SHOWN else ""
        places = f"{self._unit}s {numbers}{more}"
        raise CorpusError(
            f"{self._label}: {self._bad_rows:,} of {rows:,} rows do not have the right form ({places}), "
            f"and 1% are allowed; {self._requirement}; correct the file, or give two files as `source_path` and "
            f"`target_path`{self._remarks}"
        )
