"""Streams: lines are translated as they arrive, in one process or several; the output has only translations."""

import io
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

import pytest

from tests.support.loud_translator import ENVIRONMENT, STOPPABLE, loud
from tests.support.pipes import pipe_with
from translator.inference.files import line_translation
from translator.inference.files.line_reader import FILE
from translator.inference.files.line_translation import Work
from translator.inference.files.output_formats import OutputForm
from translator.inference.files.stream import translate_stream

BOM = b"\xef\xbb\xbf"
WORK = Work(loud, OutputForm())


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_translation, "available_cores", lambda: 2)


def through(content: bytes, translator: Any = None) -> str:
    output = io.StringIO()
    with pipe_with(content) as source:
        translate_stream(WORK, translator or loud(), source, output)
    return output.getvalue()


def from_file(content: bytes, work: Work, processes: int, output: io.StringIO) -> None:
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.seek(0)
        translate_stream(work, loud(processes=processes), file.fileno(), output)


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\n\r\nb\r", ["a", "", "b"]),
        (b"a\rb\r", ["a", "b"]),
        ("\ufeffa\r\n\r\nگل".encode("utf-16-be"), ["a", "", "گل"]),
        (BOM + b"a\n" + BOM + b"b\n", ["a", "\ufeffb"]),
        (BOM, []),
        (BOM + b"\n", [""]),
        ("a\u2028b\x0cc\n".encode(), ["a\u2028b\x0cc"]),
    ],
)
def test_only_newlines_end_a_line_and_a_leading_bom_is_dropped(content: bytes, texts: list[str]) -> None:
    translator = loud()
    expected_output = "".join(f"{text.upper()}\n" for text in texts)
    assert through(content, translator) == expected_output
    assert list(itertools.chain(*translator.groups)) == texts


def test_a_translation_is_written_without_waiting_for_the_next_line() -> None:
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
    translate_stream(WORK, loud(meanwhile), reading, output)
    os.close(reading)
    assert seen == ["", "FIRST\n", "FIRST\nUNFINMORE\n"]


def test_a_line_that_is_not_utf8_is_translated_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    written = through(b"a\n" * 100 + b"bc\xffd\n" + b"\xc3\n" * 8 + b"e")
    assert written == "A\n" * 100 + "BC\ufffdD\n" + "\ufffd\n" * 8 + "E\n"
    assert caplog.messages == [
        "not UTF-8 in line 101 of the input and 8 more up to line 109: invalid bytes are left out"
    ]


def test_a_full_output_pipe_does_not_delay_a_stop_signal() -> None:
    code = STOPPABLE.format(call="translate_stream(Work(loud, OutputForm()), loud(), sys.stdin.fileno(), sys.stdout)")
    with tempfile.TemporaryFile() as text:
        text.write(b"abcdefg\n" * 100_000)
        text.seek(0)
        pipes: Any = {"stdin": text, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "bufsize": 0}
        process: Any = subprocess.Popen([sys.executable, "-c", code], env=ENVIRONMENT, **pipes)

    # The process writes until the pipe is full, and then waits for a reader.
    assert process.stdout.read(8) == b"ABCDEFG\n"
    time.sleep(0.3)

    process.send_signal(signal.SIGTERM)
    assert process.stderr.readline() == b"stopped\n"
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 143


def test_two_processes_write_the_same_output_as_one(caplog: pytest.LogCaptureFixture) -> None:
    # Enough lines for two processes, and one of them is long.
    lines = [f"line {number}" for number in range(2 * FILE.at_most)]
    lines[700] = "a long line 700"
    content = "\n".join(lines).encode()
    work = Work(loud, OutputForm("tsv"))

    outputs = []
    for processes in (1, 2):
        output = io.StringIO()
        caplog.clear()
        from_file(content, work, processes, output)
        assert caplog.messages == ["line 701 is long"], "told once, with its number"
        outputs.append(output.getvalue())
    assert outputs[0] == outputs[1]
    assert outputs[0].count("\n") == len(lines)
