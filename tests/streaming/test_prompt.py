"""The prompt: what a person types, what is kept of it, and how it ends."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from loud_translator import ENVIRONMENT, STOPPABLE

from translator.streaming.prompt import history_file

CALL = "translate_interactively(Work(loud, OutputForm()), loud())"


class Person:
    """Types at a terminal and reads its screen, while the program's standard output goes elsewhere."""

    def __init__(self, state: Path) -> None:
        self._master, slave = pty.openpty()
        self._elsewhere, output = os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, "-c", STOPPABLE.format(call=CALL)],
            stdin=slave,
            stdout=output,
            stderr=slave,
            env=ENVIRONMENT | {"XDG_STATE_HOME": str(state)},
        )
        os.close(slave)
        os.close(output)
        self.screen = b""
        self.output = b""

    def type_at_prompt(self, keys: bytes) -> None:
        """Wait for a new prompt, wherever it appears, then type."""
        screen, output = len(self.screen), len(self.output)
        while b"en> " not in self.screen[screen:] and b"en> " not in self.output[output:]:
            ready = select.select([self._master, self._elsewhere], [], [])[0]
            if self._master in ready:
                self.screen += os.read(self._master, 1024)
            if self._elsewhere in ready:
                self.output += os.read(self._elsewhere, 1024)
        os.write(self._master, keys)

    def see(self, text: bytes) -> None:
        """Wait until `text` is on the screen."""
        while text not in self.screen:
            self.screen += os.read(self._master, 1024)

    def leave(self) -> int:
        """Return the exit code of the program, which has to end, after reading its output."""
        while more := os.read(self._elsewhere, 1024):
            self.output += more
        code = self.process.wait()
        os.close(self._master)
        os.close(self._elsewhere)
        return code


def test_the_prompt_stays_out_of_the_output_and_has_a_history(tmp_path: Path) -> None:
    pytest.importorskip("readline")
    person = Person(tmp_path)
    person.type_at_prompt(b"abc\r")
    person.type_at_prompt(b"\r")
    person.type_at_prompt(b"\x10d\r")  # Ctrl-P: the line before
    person.type_at_prompt(b"\x04")
    assert person.leave() == 0
    assert person.output == b"ABC\nABCD\n"
    assert b"Type English" in person.screen


def test_a_stop_signal_at_the_prompt_is_told_on_a_line_of_its_own(tmp_path: Path) -> None:
    person = Person(tmp_path)
    person.type_at_prompt(b"abc\r")
    person.type_at_prompt(b"half a li")
    person.see(b"half a li")
    person.process.send_signal(signal.SIGTERM)
    person.see(b"stopped")
    assert person.leave() == 143
    assert person.output == b"ABC\n"
    # A signal that the system hands to another thread does not wake the prompt; then the process is ended from there.
    assert re.search(rb"half a li\r\n(translator: )?stopped", person.screen)


def test_the_history_is_there_the_next_time(tmp_path: Path) -> None:
    pytest.importorskip("readline")
    for keys in (b"abc\r", b"\x10d\r"):
        person = Person(tmp_path)
        person.type_at_prompt(keys)
        person.type_at_prompt(b"\x04")
        assert person.leave() == 0
    assert person.output == b"ABCD\n"
    kept = tmp_path / "translator" / "history"
    assert kept.read_text(encoding="utf-8").splitlines()[-2:] == ["abc", "abcd"]
    assert kept.stat().st_mode & 0o077 == 0, "what a person typed is theirs alone"


def test_a_history_that_cannot_be_kept_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    person = Person(tmp_path / "file")
    person.type_at_prompt(b"abc\r")
    person.type_at_prompt(b"\x04")
    assert person.leave() == 0
    assert person.output == b"ABC\n"
    assert b"Error" not in person.screen


def test_where_the_history_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert history_file() == tmp_path / "translator" / "history"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for value in ("", "relative/path"):
        monkeypatch.setenv("XDG_STATE_HOME", value)
        assert history_file() == tmp_path / "home" / ".local" / "state" / "translator" / "history"
