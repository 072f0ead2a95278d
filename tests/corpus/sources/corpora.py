"""Corpora in every layout and packing, written for the tests of this folder."""

import functools
import gzip
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
import zstandard

from translator.config import SourceConfig
from translator.corpus.sources import Pair, read_pairs
from translator.errors import CorpusError

PAIRS: Final = [Pair(1, "One.", "یک."), Pair(2, "Two.", "دو."), Pair(3, "Three.", "سه.")]
ENGLISH, PERSIAN = b"One.\nTwo.\nThree.\n", "یک.\nدو.\nسه.\n".encode()
TABLE: Final = "One.\tیک.\nTwo.\tدو.\nThree.\tسه.\n".encode()

PACKERS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "": lambda content: content,
    ".gz": gzip.compress,
    ".xz": functools.partial(lzma.compress, preset=0),
    ".zst": zstandard.compress,
}
"""By suffix."""


def two_files(folder: Path, english: bytes = ENGLISH, persian: bytes = PERSIAN, suffix: str = "") -> SourceConfig:
    """Write the two sides as they are."""
    paths = folder / f"text.en{suffix}", folder / f"text.fa{suffix}"
    for path, content in zip(paths, (english, persian), strict=True):
        path.write_bytes(content)
    return SourceConfig(name="text", source_path=str(paths[0]), target_path=str(paths[1]))


def one_file(path: Path, content: bytes, **settings: object) -> SourceConfig:
    """Write one file as it is."""
    path.write_bytes(content)
    return SourceConfig.model_validate({"name": "text", "path": str(path), **settings})


def zip_file(path: Path, members: dict[str, bytes], **settings: object) -> SourceConfig:
    """Write a zip archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return SourceConfig.model_validate({"name": "text", "path": str(path), **settings})


def folder_of(folder: Path, files: dict[str, bytes]) -> SourceConfig:
    """Write a folder of files."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return SourceConfig(name="text", path=str(folder))


def complaint(source: SourceConfig) -> str:
    """Return what a person is told about a corpus that cannot be read."""
    with pytest.raises(CorpusError) as caught:
        list(read_pairs(source))
    message = str(caught.value)
    assert "\n" not in message
    return message
