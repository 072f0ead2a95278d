"""Fetching from the server of a test."""

from pathlib import Path
from typing import Any

import pytest
from corpus.download.file_server import FileServer, zip_dataset

from translator.corpus.download.download import obtain
from translator.errors import CorpusError

HALF = 100_000
"""Bytes of a zip after which it breaks off."""


def get(server: FileServer, folder: Path, *, waits: tuple[float, ...] = (0.0, 0.0), **changes: Any) -> bytes:
    return obtain(zip_dataset(server, **changes), folder, waits=waits, timeout=5).read_bytes()


def refusal(server: FileServer, folder: Path, **changes: Any) -> str:
    with pytest.raises(CorpusError) as caught:
        get(server, folder, **changes)
    assert not (folder / "toy.zip").exists()
    return str(caught.value)


def ranges(server: FileServer) -> list[str | None]:
    return [asked.get("range") for asked in server.asked]


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())
