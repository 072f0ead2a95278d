"""Rows of Parquet, the form of data sets on the Hugging Face Hub; read by pyarrow, an extra of the package."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from translator.corpus.reading.tables import Row, flat
from translator.errors import CorpusError, InputError
from translator.run.files import storage_errors
from translator.run.text import excerpt, install_command

_ROWS_AT_ONCE: Final = 1000
_BUFFER: Final = 1 << 20  # bytes of a column that are read at once


def rows_of_parquet(path: Path) -> Iterator[Row]:
    """Yield the rows of a Parquet file, numbered from 1. Memory stays flat; checksums are verified where it has them.

    Raises:
        CorpusError: the file is damaged.
        InputError: pyarrow is missing.
    """
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        advice = f"install it with: {install_command('pyarrow>=17,<27')}"
        raise InputError(f"{path} is a Parquet file, and pyarrow cannot be imported ({error}); {advice}") from error

    with _damaged_files(path):
        file = ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER, page_checksum_verification=True)
    with file:
        with _damaged_files(path):
            batches = file.iter_batches(_ROWS_AT_ONCE, use_threads=False)
        number = 0
        while True:
            with _damaged_files(path):
                batch = next(batches, None)
                rows = [] if batch is None else batch.to_pylist()
            if not rows:
                return
            for values in rows:
                number += 1
                yield number, flat(values)


@contextlib.contextmanager
def _damaged_files(path: Path) -> Iterator[None]:
    """Convert the errors that damaged data raise into a `CorpusError`; they are nearly any error of pyarrow."""
    with storage_errors(path, "read"):
        try:
            yield
        except Exception as error:
            # Only an error of the system has a number.
            if isinstance(error, OSError) and error.errno is not None:
                raise
            reason = excerpt(str(error), 200)
            raise CorpusError(f"{path} is damaged or truncated ({reason}); download or copy the file again") from error
