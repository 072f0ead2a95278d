"""Pairs from Parquet, the form of data sets on the Hugging Face Hub; read by pyarrow, an extra of the package."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from translator.config import SourceConfig
from translator.corpus.reading.cells import pair_of_texts, text_in
from translator.corpus.reading.columns import columns_by_name
from translator.corpus.reading.lines import BAD_ROW, Pair, Unreadable
from translator.errors import CorpusError, InputError
from translator.run.files import storage_errors
from translator.run.text import excerpt, install_command

MAGIC: Final = b"PAR1"  # the first four bytes of a file, and the last
_ROWS_AT_ONCE: Final = 1000
_BUFFER: Final = 1 << 20  # bytes of a column that are read at once
_INVALID: Final = object()  # stands for a text that is not UTF-8


class _Batch(NamedTuple):
    """The values of consecutive rows."""

    english: list[Any]
    persian: list[Any]
    scores: list[Any]


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
    row = 0
    for batch in _batches(path, source, label, note):
        for english_value, persian_value, score in zip(*batch, strict=True):
            row += 1
            if english_value is _INVALID or persian_value is _INVALID:
                if not drop_invalid:
                    advice = "set `invalid_utf8: drop` for this source to skip such rows"
                    raise CorpusError(f"{label}, row {row}: not UTF-8; {advice}")
                yield Pair(row, "", "", str(Unreadable.INVALID_UTF8))
                continue
            english = text_in(english_value)
            persian = text_in(persian_value)
            if english is None or persian is None:
                yield Pair(row, english or persian or "", "", BAD_ROW)
                continue
            yield pair_of_texts(row, english, persian, score, source)


def _batches(path: Path, source: SourceConfig, label: str, note: Callable[[str], None]) -> Iterator[_Batch]:
    """Yield the values of the columns that `source` names; raises as `pairs_of_parquet` does."""
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        advice = f"install it with: {install_command('pyarrow>=17,<27')}"
        raise InputError(f"{label} is a Parquet file, and pyarrow cannot be imported ({error}); {advice}") from error

    # 1. The columns.
    with _damaged_files(path):
        file = ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER, page_checksum_verification=True)
    with file:
        with _damaged_files(path):
            leaf_paths = list(_leaf_paths(file.schema_arrow))
        names = [".".join(leaf_path) for leaf_path in leaf_paths]
        columns = columns_by_name(names, source, label)
        read_names = columns.names_read(names)
        if len(names) > len(read_names):
            note(f"{label}: {columns.note_on_columns_read(names)}")

        # 2. Their values, a batch at a time.
        with _damaged_files(path):
            batches = file.iter_batches(_ROWS_AT_ONCE, columns=read_names, use_threads=False)
        while True:
            with _damaged_files(path):
                batch = next(batches, None)
                if batch is None:
                    return
                values = _Batch(
                    english=_values(batch, leaf_paths[columns.english]),
                    persian=_values(batch, leaf_paths[columns.persian]),
                    scores=[None] * batch.num_rows,
                )
                if columns.score is not None:
                    values = values._replace(scores=_values(batch, leaf_paths[columns.score]))
            yield values


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


def _leaf_paths(schema: Any) -> Iterator[tuple[str, ...]]:
    """Yield the path of each column of an Arrow schema, or field of a column, that has no fields itself."""
    from pyarrow import types

    for field in schema:
        if types.is_struct(field.type):
            for path in _leaf_paths(field.type):
                yield (field.name, *path)
        else:
            yield (field.name,)


def _values(batch: Any, path: tuple[str, ...]) -> list[Any]:
    """Return the values at the path of a field in the rows of `batch`; None where there is none."""
    name, *field_names = path
    values = batch.column(batch.schema.names.index(name))
    for field_name in field_names:
        # A field of a row without its column has no value, so its own values do not do.
        values = values.flatten()[values.type.get_field_index(field_name)]
    try:
        return list(values.to_pylist())
    except UnicodeDecodeError:
        return [_value(scalar) for scalar in values]


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return _INVALID
