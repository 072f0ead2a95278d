"""Messages reach the person and the record, and neither can stop the work."""

import errno
import io
import logging
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from translator.errors import StorageError
from translator.log import LOGGER, RECORD, log_to_console, log_to_file

FULL = Path("/dev/full")
needs_full_device = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")


@pytest.fixture(autouse=True)
def own_logger() -> Iterator[None]:
    """Begin without handlers, and leave the logger as it was."""
    before = LOGGER.handlers[:], LOGGER.level, LOGGER.propagate
    LOGGER.handlers.clear()  # a test before may have left the console on
    yield
    LOGGER.handlers[:], LOGGER.propagate = before[0], before[2]
    LOGGER.setLevel(before[1])


def test_the_console_gets_each_message_once(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_console()
    log_to_console()
    LOGGER.info("step %d", 3)
    LOGGER.warning("careful")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "step 3\nwarning: careful\n")


def test_the_file_gets_what_is_said_inside_the_block(tmp_path: Path) -> None:
    path = tmp_path / "run" / "log.txt"
    for word in ("گل", "second"):
        with log_to_file(path):
            LOGGER.info(word)
        LOGGER.warning("outside")
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [re.sub(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} ", "", line) for line in lines] == ["INFO گل", "INFO second"]


def test_the_record_is_for_the_file_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log_to_console()
    with log_to_file(tmp_path / "log.txt"):
        RECORD.info("step 50: loss 3.412")
        LOGGER.info("for all")
    assert capsys.readouterr().err == "for all\n"
    assert [line.split(" ", 3)[3] for line in (tmp_path / "log.txt").read_text(encoding="utf-8").splitlines()] == [
        "step 50: loss 3.412",
        "for all",
    ]


def test_a_log_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="this is a folder"), log_to_file(tmp_path):
        pytest.fail("there is no log")


@needs_full_device
def test_a_full_disk_is_said_once_and_stops_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with log_to_file(FULL):
        for step in range(3):
            LOGGER.info("step %d", step)
    explanation = os.strerror(errno.ENOSPC)
    assert capsys.readouterr().err == (
        f"warning: cannot write {FULL}: {explanation}; the work goes on without this log\n"
    )


def test_a_bug_in_a_message_keeps_its_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    LOGGER.propagate = False
    LOGGER.handlers.clear()  # pytest's own handler, which raises
    with log_to_file(tmp_path / "log.txt"):
        LOGGER.log(logging.INFO, "%d steps", "three")
    assert "TypeError" in capsys.readouterr().err


def test_a_console_that_cannot_be_written_stops_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(sys, "stderr", Full())
    log_to_console()
    with log_to_file(tmp_path / "log.txt"):
        LOGGER.info("still here")
    assert "still here" in (tmp_path / "log.txt").read_text(encoding="utf-8")
