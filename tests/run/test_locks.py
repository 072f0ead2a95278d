"""One process at a time works in a run folder, until that process ends."""

import errno
import fcntl
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from translator.errors import RunError
from translator.run.locks import exclusive, hold_folder

HOLDER = """
import sys
from pathlib import Path
from translator.run.locks import hold_folder
with hold_folder(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_run_is_locked_by_one_process_until_that_process_ends(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    first = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert first.stdout is not None
    assert first.stdout.readline() == b"held\n"
    message = "another process uses .*; wait for it, stop it, or set run.directory"
    with pytest.raises(RunError, match=message), hold_folder(tmp_path):
        pytest.fail("two processes hold one folder")
    first.kill()
    first.communicate()
    with hold_folder(tmp_path), pytest.raises(RunError, match="another process uses"), hold_folder(tmp_path):
        pytest.fail("held twice")


def test_a_file_system_without_locks_gives_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_locks(handle: int, kind: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(logging.getLogger("translator"), "propagate", True)
    monkeypatch.setattr(fcntl, "flock", no_locks)
    with exclusive(tmp_path) as is_first, exclusive(tmp_path) as is_second, hold_folder(tmp_path):
        assert is_first and is_second
        assert "has no locks; make sure that no other process uses it" in caplog.text
