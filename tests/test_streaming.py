"""Lines go through as they come, and nothing but translations reaches the output."""

import io
import os
import pty
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator import streaming
from translator.errors import InputError, StorageError
from translator.inference import Translator
from translator.streaming import translate_stream, write_lines

BOM = b"\xef\xbb\xbf"

LOUD = """
import sys
from translator.errors import Interrupted
from translator.signals import stop_on_signals
from translator.streaming import translate_interactively, translate_stream

class Loud:
    def translate(self, text):
        return text.upper()

    def translate_lines(self, texts, first_line):
        return [text.upper() for text in texts]

try:
    with stop_on_signals():
        {call}
except Interrupted as interrupted:
    print("stopped", file=sys.stderr, flush=True)
    sys.exit(interrupted.exit_code)
"""
"""A program of its own that translates into capital letters."""


class Recorder(Translator):
    """Puts brackets around each line, keeps what it was asked for, and may do something while it works."""

    def __init__(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        self.groups: list[list[str]] = []
        self.first_lines: list[int] = []
        self._meanwhile = meanwhile

    def translate_lines(
        self,
        texts: Sequence[str],
        *,
        first_line: int = 1,
        between_batches: Callable[[], None] | None = None,
        description: str | None = None,
    ) -> list[str]:
        self.groups.append(list(texts))
        self.first_lines.append(first_line)
        self._meanwhile()
        return [f"[{text}]" for text in texts]


def pipe_with(content: bytes) -> int:
    """Return the reading end of a pipe that holds `content` and ends after it."""
    reading, writing = os.pipe()
    os.write(writing, content)
    os.close(writing)
    return reading


def lines_read(content: bytes) -> list[str]:
    """Return the texts that the translator is given for `content`."""
    source, recorder, output = pipe_with(content), Recorder(), io.StringIO()
    translate_stream(recorder, source, output)
    os.close(source)
    texts = [text for group in recorder.groups for text in group]
    assert output.getvalue() == "".join(f"[{text}]\n" for text in texts)
    return texts


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\n\r\nb\r", ["a", "", "b"]),
        (BOM + b"a\n" + BOM + b"b\n", ["a", "\ufeffb"]),
        (BOM, []),
        (BOM + b"\n", [""]),
        ("a\u2028b\x0cc\n".encode(), ["a\u2028b\x0cc"]),
    ],
)
def test_what_a_line_is(content: bytes, texts: list[str]) -> None:
    assert lines_read(content) == texts


@settings(deadline=None)
@given(
    content=st.lists(st.sampled_from([b"\n", b"\r", BOM, b"ab", "گل".encode()])).map(b"".join),
    size=st.integers(1, 7),
)
def test_where_a_read_ends_makes_no_difference(content: bytes, size: int) -> None:
    whole = lines_read(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming, "BYTES_AT_ONCE", size)
        assert lines_read(content) == whole


def test_a_line_comes_out_before_the_next_one_goes_in() -> None:
    reading, writing = os.pipe()
    output = io.StringIO()
    seen: list[str] = []

    def meanwhile() -> None:
        seen.append(output.getvalue())
        if len(seen) < 3:
            os.write(writing, b"more\n")
        else:
            os.close(writing)

    os.write(writing, b"first\nunfin")
    translate_stream(Recorder(meanwhile), reading, output)
    os.close(reading)
    assert seen == ["", "[first]\n", "[first]\n[unfinmore]\n"]


def test_lines_that_wait_go_together_but_not_too_many() -> None:
    source, recorder = pipe_with(b"a\n" * 3000), Recorder()
    translate_stream(recorder, source, io.StringIO())
    os.close(source)
    assert [len(group) for group in recorder.groups] == [1024, 1024, 952]
    assert recorder.first_lines == [1, 1025, 2049]


def test_no_more_is_read_than_is_needed(tmp_path: Path) -> None:
    line = b"x" * 99 + b"\n"
    (tmp_path / "long").write_bytes(line * 10_000)
    source = os.open(tmp_path / "long", os.O_RDONLY)
    ahead: list[int] = []

    def measure() -> None:
        taken = sum(len(group) for group in recorder.groups) * len(line)
        ahead.append(os.lseek(source, 0, os.SEEK_CUR) - taken)

    recorder = Recorder(measure)
    translate_stream(recorder, source, io.StringIO())
    os.close(source)
    assert len(ahead) >= 10
    assert max(ahead) <= streaming.BYTES_AT_ONCE


def test_an_input_that_does_not_wait_is_waited_for() -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)

    def write() -> None:
        os.write(writing, b"late\n")
        os.close(writing)

    later = threading.Timer(0.2, write)
    later.start()
    output = io.StringIO()
    translate_stream(Recorder(), reading, output)
    later.join()
    os.close(reading)
    assert output.getvalue() == "[late]\n"


def test_a_line_that_is_not_utf8_is_named_after_those_before_it() -> None:
    source, output = pipe_with(b"a\n" * 1500 + b"bc\xff\na\n"), io.StringIO()
    with pytest.raises(InputError, match=r"line 1501 of the input is not UTF-8 \(byte 3 of the line\); convert"):
        translate_stream(Recorder(), source, output)
    os.close(source)
    assert output.getvalue() == "[a]\n" * 1500


def test_an_input_that_cannot_be_read(tmp_path: Path) -> None:
    source = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(StorageError, match="cannot read standard input: this is a folder"):
        translate_stream(Recorder(), source, io.StringIO())
    os.close(source)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_said_once_and_not_again_at_the_end() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as output:
        with pytest.raises(StorageError, match="cannot write standard output: the disk is full; free some space"):
            write_lines(output, ["a"])
        output.flush()


def test_a_reader_that_does_not_read_cannot_hold_up_a_stop(tmp_path: Path) -> None:
    (tmp_path / "long").write_bytes(b"abcdefg\n" * 100_000)
    code = LOUD.format(call="translate_stream(Loud(), sys.stdin.fileno(), sys.stdout)")
    with (tmp_path / "long").open("rb") as text:
        process = subprocess.Popen(
            [sys.executable, "-c", code], bufsize=0, stdin=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.read(8) == b"ABCDEFG\n"
    time.sleep(0.5)  # the pipe fills up
    process.send_signal(signal.SIGTERM)
    assert process.stderr.readline() == b"stopped\n"
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 143


class Person:
    """Types at a terminal and reads its screen, while the program's standard output goes elsewhere."""

    def __init__(self) -> None:
        self._master, slave = pty.openpty()
        self._elsewhere, output = os.pipe()
        code = LOUD.format(call="translate_interactively(Loud())")
        self.process = subprocess.Popen([sys.executable, "-c", code], stdin=slave, stdout=output, stderr=slave)
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

    def leave(self) -> int:
        """Return the exit code of the program, which has to end, after reading its output."""
        while more := os.read(self._elsewhere, 1024):
            self.output += more
        code = self.process.wait()
        os.close(self._master)
        os.close(self._elsewhere)
        return code


def test_the_prompt_stays_out_of_the_output_and_has_a_history() -> None:
    pytest.importorskip("readline")
    person = Person()
    person.type_at_prompt(b"abc\r")
    person.type_at_prompt(b"\r")
    person.type_at_prompt(b"\x10d\r")  # Ctrl-P: the line before
    person.type_at_prompt(b"\x04")
    assert person.leave() == 0
    assert person.output == b"ABC\nABCD\n"
    assert b"Type English" in person.screen


def test_a_stop_signal_at_the_prompt() -> None:
    person = Person()
    person.type_at_prompt(b"abc\r")
    person.type_at_prompt(b"")
    person.process.send_signal(signal.SIGTERM)
    assert person.leave() == 143
    assert person.output == b"ABC\n"
