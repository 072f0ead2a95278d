"""Pairs of Parquet, the form of data sets on the Hugging Face Hub; read by pyarrow, an extra of the package."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from translator.config import SourceConfig
from translator.corpus.reading.columns import Columns, named_columns
from translator.corpus.reading.lines import Pair, Unreadable
from translator.corpus.reading.tables import Row, flat, note_other_columns, pairs_of_rows
from translator.errors import CorpusError, InputError
from translator.run.files import storage_errors
from translator.run.text import excerpt, install_command

_ROWS_AT_ONCE: Final = 1000
_BUFFER: Final = 1 << 20  # bytes of a column that are read at once


def pairs_of_parquet(
    path: Path, source: SourceConfig, label: str, note: Callable[[str], None], *, drop_invalid: bool
) -> Iterator[Pair]:
    """Yield the pairs of a Parquet file; the line of a pair is the number of its row, from 1. Memory stays flat.

    A row without text on a side gives a pair with the defect `BAD_ROW`. Checksums are verified where the file has them.

    Args:
        source: with `source_column`, `target_column` and `min_score`; `translation.en` is the field `en` of the column
            `translation`.
        label: name of the file in messages.
        note: is called with a message on the columns that are read.
        drop_invalid: give a row that is not UTF-8 a defect, instead of raising an error.

    Raises:
        CorpusError: the file is damaged, or lacks the columns of a pair.
        InputError: pyarrow is missing.
    """
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        advice = f"install it with: {install_command('pyarrow>=17,<27')}"
        raise InputError(f"{label} is a Parquet file, and pyarrow cannot be imported ({error}); {advice}") from error

    with _damaged_files(path):
        file = ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER, page_checksum_verification=True)
    with file:
        with _damaged_files(path):
            names = list(_column_names(file.schema_arrow))
        columns = named_columns(names, source, label)
        note_other_columns(columns, names, note)
        for pair in pairs_of_rows(_rows(file, columns, path), columns, source):
            if pair.defect == Unreadable.INVALID_UTF8 and not drop_invalid:
                advice = "set `invalid_utf8: drop` for this source to skip such rows"
                raise CorpusError(f"{label}, row {pair.line}: not UTF-8; {advice}")
            yield pair


def _column_names(schema: Any) -> Iterator[str]:
    """Yield the name of each column of an Arrow schema, or field of a column, that has no fields itself."""
    from pyarrow import types

    for field in schema:
        if types.is_struct(field.type):
            for name in _column_names(field.type):
                yield f"{field.name}.{name}"
        else:
            yield field.name


def _rows(file: Any, columns: Columns, path: Path) -> Iterator[Row | Pair]:
    """Yield the values of `columns`, a batch at a time; a row that is not UTF-8 gives a pair with its defect."""
    with _damaged_files(path):
        names = [name for name in columns if name is not None]
        batches = file.iter_batches(_ROWS_AT_ONCE, columns=names, use_threads=False)
    first_row = 1
    while True:
        rows: list[Row | Pair] = []
        with _damaged_files(path):
            batch = next(batches, None)
            if batch is None:
                return
            try:
                for number, values in enumerate(batch.to_pylist(), start=first_row):
                    rows.append((number, flat(values)))
            except UnicodeDecodeError:
                rows = [_row(batch.slice(place, 1), first_row + place) for place in range(batch.num_rows)]
        yield from rows
        first_row += batch.num_rows


def _row(batch: Any, number: int) -> Row | Pair:
    """Return the only row of a batch, or a pair with its defect."""
    try:
        return number, flat(batch.to_pylist()[0])
    except UnicodeDecodeError:
        return Pair(number, "", "", str(Unreadable.INVALID_UTF8))


@contextlib.contextmanager
def _damaged_files(path: Path) -> Iterator[None]:
    """Convert the errors that damaged data raise into a `CorpusError`; they are nearly any error of pyarrow."""
    import pyarrow

    with storage_errors(path, "read"):
        try:
            yield
        except (
            pyarrow.ArrowException,
            ArithmeticError,
            LookupError,
            MemoryError,
            OSError,
            TypeError,
            ValueError,
        ) as error:
            # Only an error of the system has a number.
            if isinstance(error, OSError) and error.errno is not None:
                raise
            reason = excerpt(str(error), 200)
            raise CorpusError(f"{path} is damaged or truncated ({reason}); download or copy the file again") from error
