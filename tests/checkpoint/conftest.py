"""The machine's power does not fail in a test: flushing many small checkpoints only costs time."""

import os

import pytest


@pytest.fixture(autouse=True)
def no_flushing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)
