"""The prompt: its input, its history and how it ends."""

import io
import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.loud_translator import ENVIRONMENT, STOPPABLE, loud
from translator.inference.files.output_formats import OutputForm
from translator.inference.files.prompt import translate_texts

CALL = "translate_interactively(OutputForm(), loud(){settings})"
INPUTS = Path("../shared/inputs").resolve()


class Person:
    """Types at a terminal and reads its screen, while the program's standard output goes elsewhere."""

    def __init__(self, state: Path, settings: str = "") -> None:
        self._master, slave = pty.openpty()
        self._elsewhere, output = os.pipe()
        command = [sys.executable, "-c", STOPPABLE.format(call=CALL.format(settings=settings))]
        environment = ENVIRONMENT | {"XDG_STATE_HOME": str(state)}
        self.process = subprocess.Popen(command, stdin=slave, stdout=output, stderr=slave, env=environment)
        os.close(slave)
        os.close(output)
        self.screen = b""
        self.output = b""

    def type_at_prompt(self, keys: bytes) -> None:
        """Wait for a new prompt, wherever it appears, then type."""
        screen_start = len(self.screen)
        output_start = len(self.output)
        while b"en> " not in self.screen[screen_start:] and b"en> " not in self.output[output_start:]:
            ready, _, _ = select.select([self._master, self._elsewhere], [], [])
            if self._master in ready:
                self.screen += os.read(self._master, 1024)
            if self._elsewhere in ready:
                self.output += os.read(self._elsewhere, 1024)
        os.write(self._master, keys)

    def see(self, text: bytes) -> None:
        while text not in self.screen:
            self.screen += os.read(self._master, 1024)

    def stop(self) -> None:
        """Send a stop signal until the program says that it stops: one that comes just before it waits is unnoticed."""
        while b"stopped" not in self.screen:
            self.process.send_signal(signal.SIGTERM)
            ready, _, _ = select.select([self._master], [], [], 0.5)
            if ready:
                self.screen += os.read(self._master, 1024)

    def leave(self) -> int:
        """Read the rest of the output, wait for the program to end, and return its exit code."""
        while more := os.read(self._elsewhere, 1024):
            self.output += more
        code = self.process.wait()
        os.close(self._master)
        os.close(self._elsewhere)
        return code


def test_a_stop_signal_at_the_prompt_is_reported_on_its_own_line(tmp_path: Path) -> None:
    person = Person(tmp_path)
    person.type_at_prompt(b"abc\r")
    person.type_at_prompt(b"half a li")
    person.see(b"half a li")
    person.stop()
    assert person.leave() == 143
    assert person.output == b"ABC\n"
    assert b"half a li\r\nstopped" in person.screen


def test_the_prompt_is_kept_out_of_the_output_and_its_history_is_saved(tmp_path: Path) -> None:
    pytest.importorskip("readline")
    history = tmp_path / "translator" / "history"
    history.parent.mkdir()
    history.write_text("abc\n", encoding="utf-8")
    person = Person(tmp_path)
    person.type_at_prompt(b"\x10d\r")  # Ctrl-P recalls the line before
    person.type_at_prompt(b"\r")
    person.type_at_prompt(b"\x04")  # Ctrl-D
    assert person.leave() == 0
    assert person.output == b"ABCD\n"
    assert history.read_text(encoding="utf-8").splitlines() == ["abc", "abcd"]
    assert history.stat().st_mode & 0o077 == 0, "what a person typed is theirs alone"


def test_lines_up_to_an_empty_one_are_a_paragraph(tmp_path: Path) -> None:
    person = Person(tmp_path, ", paragraphs=True")
    for line in ("", "The book", "is old.", "", " ", "- one", "- two", "", "the", "last"):
        person.type_at_prompt(line.encode() + b"\r")
    person.type_at_prompt(b"\x04")  # Ctrl-D ends a paragraph, too
    assert person.leave() == 0
    assert person.output == b"THE BOOK IS OLD.\n- ONE\n- TWO\nTHE LAST\n"


@pytest.mark.skipif(not INPUTS.exists(), reason="needs ../shared/inputs")
def test_a_wrapped_file_typed_at_the_prompt_is_one_line(tmp_path: Path) -> None:
    lines = (INPUTS / "wrapped.en").read_text(encoding="utf-8").splitlines()
    person = Person(tmp_path, ", paragraphs=True")
    for line in [*lines, ""]:
        person.type_at_prompt(line.encode() + b"\r")
    person.type_at_prompt(b"\x04")
    assert person.leave() == 0
    assert person.output.decode() == " ".join(lines).upper() + "\n"


@pytest.mark.parametrize(("form", "order"), [("text", "visual"), ("text", "logical"), ("tsv", "visual")])
def test_only_plain_text_is_reordered(form: Any, order: Any) -> None:
    output = io.StringIO()
    translate_texts(OutputForm(form), loud(), ["سلام"], output, order)
    reordered = "سلام" not in output.getvalue()
    assert reordered == (form == "text" and order == "visual")
