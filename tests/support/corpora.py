"""Corpora in every layout and packing, for the tests of reading."""

import functools
import gzip
import io
import lzma
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import zstandard

from tests.support.toy_corpora import write_pairs
from translator.config import SourceConfig
from translator.corpus.reading.lines import Pair
from translator.corpus.reading.pairs import read_pairs
from translator.errors import CorpusError

PAIRS: Final = [Pair(1, "One.", "یک."), Pair(2, "Two.", "دو."), Pair(3, "Three.", "سه.")]
ENGLISH, PERSIAN = b"One.\nTwo.\nThree.\n", "یک.\nدو.\nسه.\n".encode()
TABLE: Final = "One.\tیک.\nTwo.\tدو.\nThree.\tسه.\n".encode()
Rows = list[tuple[str, str]]

PACKERS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "": lambda content: content,
    ".gz": functools.partial(gzip.compress, mtime=0),
    ".xz": functools.partial(lzma.compress, preset=0),
    ".zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}
"""By suffix."""


def tsv(path: Path, rows: Rows, **settings: Any) -> SourceConfig:
    """Write a table of pairs; the source has the name of the file."""
    return SourceConfig(**{"name": path.stem, "path": str(write_pairs(path, rows)), **settings})


def one_file(path: Path, content: bytes, **settings: Any) -> SourceConfig:
    path.write_bytes(content)
    return SourceConfig(name="text", path=str(path), **settings)


def zip_bytes(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def complaint(source: SourceConfig) -> str:
    with pytest.raises(CorpusError) as caught:
        list(read_pairs(source))
    return one_line(str(caught.value))


def one_line(message: str) -> str:
    """Return a message after checking that it is one line and holds no control characters."""
    assert len(message.splitlines()) == 1
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", message)
    return message


def contents(folder: Path) -> dict[str, bytes | None]:
    """Return all that is in a folder: the bytes of files, None for folders; nothing if it is not there."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }
