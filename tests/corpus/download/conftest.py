"""A server for each test, and no proxy between."""

from collections.abc import Iterator

import pytest
from corpus.download.file_server import FileServer, serving, zip_bytes


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def server() -> Iterator[FileServer]:
    """A server of a zip."""
    with serving(zip_bytes()) as state:
        yield state
