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
from unittest.mock import Mock

import pytest

from tests.support.loud_translator import loud
from translator.inference.files.output_formats import OutputForm
from translator.inference.files.prompt import translate_interactively, translate_texts

PROGRAM = """
import sys
from tests.support.loud_translator import loud
from translator.errors import Interrupted
from translator.inference.files.output_formats import OutputForm
from translator.inference.files.prompt import translate_interactively
from translator.run.signals import stop_on_signals

try:
    with stop_on_signals():
        translate_interactively(OutputForm(), loud())
except Interrupted as interrupted:
    print("stopped", file=sys.stderr, flush=True)
    sys.exit(interrupted.exit_code)
"""


class Person:
    """Types at a terminal and reads its screen, while the program's standard output goes to a file."""

    def __init__(self, folder: Path) -> None:
        self._master, slave = pty.openpty()
        self._output = folder / "output"
        command = [sys.executable, "-c", PROGRAM]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "XDG_STATE_HOME": str(folder)}
        with self._output.open("wb") as output:
            self.process = subprocess.Popen(command, stdin=slave, stdout=output, stderr=slave, env=environment)
        os.close(slave)
        self.screen = b""
        self._seen = 0  # bytes of the screen when the last keys were typed

    def see(self, text: bytes) -> None:
        """Wait until the screen has `text` after what was typed last."""
        while text not in self.screen[self._seen :]:
            ready, _, _ = select.select([self._master], [], [], 60)
            assert ready, self.screen
            self.screen += os.read(self._master, 1024)

    def type_at_prompt(self, keys: bytes) -> None:
        self.see(b"en> ")
        self._seen = len(self.screen)
        os.write(self._master, keys)

    def stop(self) -> None:
        """Send a stop signal until the program answers, and wait until it says that it stops.

        One that comes just before it waits is unnoticed. But a second one would end it before it is done.
        """
        self.process.send_signal(signal.SIGTERM)
        while not select.select([self._master], [], [], 5)[0]:
            self.process.send_signal(signal.SIGTERM)
        self.see(b"stopped")

    def leave(self) -> tuple[int, str]:
        """Wait for the program to end, and return its exit code and its standard output."""
        code = self.process.wait()
        os.close(self._master)
        return code, self._output.read_text(encoding="utf-8")


def test_a_stopped_prompt_has_only_translations_in_its_output_and_keeps_its_history(tmp_path: Path) -> None:
    pytest.importorskip("readline")
    history = tmp_path / "translator" / "history"
    history.parent.mkdir()
    history.write_text("abc\n", encoding="utf-8")
    person = Person(tmp_path)
    person.type_at_prompt(b"\x10d\r")  # Ctrl-P recalls the line before
    person.type_at_prompt(b"half a li")
    person.see(b"half a li")
    person.stop()
    assert person.leave() == (143, "ABCD\n")
    assert b"half a li\r\nstopped" in person.screen
    assert history.read_text(encoding="utf-8").splitlines() == ["abc", "abcd"]
    assert history.stat().st_mode & 0o077 == 0, "what a person typed is theirs alone"


def test_lines_up_to_an_empty_one_are_a_paragraph_and_the_end_of_input_ends_the_last(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    typed = Mock(side_effect=["", "The book", "is old.", "", " ", "- one", "- two", "", "the", "last", EOFError])
    monkeypatch.setattr("builtins.input", typed)
    monkeypatch.setitem(sys.modules, "readline", None)
    translate_interactively(OutputForm(), loud(), paragraphs=True)
    assert capfd.readouterr().out == "THE BOOK IS OLD.\n- ONE\n- TWO\nTHE LAST\n"


def test_only_plain_text_is_reordered() -> None:
    cases: Any = (("text", "visual", True), ("text", "logical", False), ("tsv", "visual", False))
    for form, order, is_reordered in cases:
        output = io.StringIO()
        translate_texts(OutputForm(form), loud(), ["سلام"], output, order)
        assert ("سلام" not in output.getvalue()) == is_reordered
