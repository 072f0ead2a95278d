"""Rows of Parquet, the form of data sets on the Hugging Face Hub; read by pyarrow, an extra of the package."""

from collections.abc import Iterator
from io import BytesIO
from typing import Final

from translator.corpus.reading.forms import TextFile
from translator.corpus.reading.packing import damaged_files, packing_of
from translator.corpus.reading.tables import NamedRow, flat
from translator.errors import InputError
from translator.run.text import install_command

_ROWS_AT_ONCE: Final = 1000
_BUFFER: Final = 1 << 20  # bytes of a column that are read at once


def rows_of_parquet(text: TextFile) -> Iterator[NamedRow]:
    """Yield the rows of a Parquet file, numbered from 1; checksums are verified where it has them.

    Memory stays flat, unless the file is compressed or a member of a zip: then it is held in memory.

    Raises:
        CorpusError: the file is damaged, or pyarrow does not support its codec or its types.
        InputError: pyarrow is missing.
    """
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        advice = f"install it with: {install_command('pyarrow>=17,<27')}"
        raise InputError(
            f"{text.label} is a Parquet file, and pyarrow cannot be imported ({error}); {advice}"
        ) from error

    # pyarrow reads the end of a file first, so a packed one is unpacked into memory.
    is_packed = text.member is not None or packing_of(text.file) is not None
    content = BytesIO(b"".join(text.blocks())) if is_packed else text.file
    # Without `pre_buffer` and `buffer_size`, pyarrow would hold the columns of a whole group of rows in memory.
    number = 0
    with (
        damaged_files(text.file),
        ParquetFile(
            content,
            pre_buffer=False,
            buffer_size=_BUFFER,
            page_checksum_verification=True,
        ) as file,
    ):
        for batch in file.iter_batches(_ROWS_AT_ONCE, use_threads=False):
            for values in batch.to_pylist():
                number += 1
                yield number, flat(values)
