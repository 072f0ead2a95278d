"""Several processes write what one writes, in the same order, and end with their parent."""

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO

import pytest
from loud_translator import ENVIRONMENT, loud

from translator.errors import StorageError
from translator.streaming import OutputForm, Work, choose_processes, translate_file
from translator.streaming.lines import LINES_OF_A_CHUNK, Chunk, chunks
from translator.streaming.partial import PartialOutput
from translator.streaming.work import BYTES_WORTH_PROCESSES


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_two_processes_write_what_one_writes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    source = tmp_path / "in"
    lines = [f"a long line {number}" if number == 700 else f"line {number}" for number in range(2 * LINES_OF_A_CHUNK)]
    source.write_text("\n".join(lines), encoding="utf-8")
    with caplog.at_level(logging.WARNING, logger="translator"):
        translate_file(Work(loud, OutputForm("tsv")), source, tmp_path / "two", processes=2)
    assert [record.getMessage() for record in caplog.records] == ["line 701 is long"], "told once, with its number"
    translate_file(Work(loud, OutputForm("tsv")), source, tmp_path / "one", processes=1)
    assert (tmp_path / "two").read_bytes() == (tmp_path / "one").read_bytes()


@pytest.mark.parametrize("processes", [1, 2])
def test_few_chunks_are_held_at_once_up_to_the_end(
    processes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[Chunk] = []
    most = [0]
    add = PartialOutput.add

    def read(file: BinaryIO, first_line: int) -> Iterator[Chunk]:
        for chunk in chunks(file, first_line):
            held.append(chunk)
            most.append(len(held))
            yield chunk

    def write(self: PartialOutput, output: Sequence[str], lines: int, input_bytes: int) -> None:
        add(self, output, lines, input_bytes)
        assert list(output) == [text.upper() for text in held.pop(0).texts]

    monkeypatch.setattr("translator.streaming.lines.LINES_OF_A_CHUNK", 4)
    monkeypatch.setattr("translator.streaming.file.chunks", read)
    monkeypatch.setattr(PartialOutput, "add", write)
    (tmp_path / "in").write_text("".join(f"line {number}\n" for number in range(200)), encoding="utf-8")
    translate_file(Work(loud, OutputForm()), tmp_path / "in", tmp_path / "out", processes=processes)
    assert len(most) == 51
    assert held == []
    assert max(most) <= 1 + 2 * processes


def test_a_killed_process_is_one_message_and_the_work_goes_on_later(tmp_path: Path) -> None:
    source, output = tmp_path / "in", tmp_path / "out"
    source.write_text("a\n" * 100, encoding="utf-8")
    with pytest.raises(StorageError, match=r"a process that translates was killed, .*take fewer \(--processes 1\)"):
        translate_file(Work(partial(loud, die), OutputForm()), source, output, processes=2)
    translate_file(Work(loud, OutputForm()), source, output)
    assert output.read_text(encoding="utf-8") == "A\n" * 100


def test_how_many_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translator.streaming.work.available_cores", lambda: 4)
    translator = loud(processes=0)
    assert choose_processes(translator, BYTES_WORTH_PROCESSES) == 4
    assert choose_processes(translator, BYTES_WORTH_PROCESSES - 1) == 1
    assert choose_processes(translator, 10, 3) == 3
    assert choose_processes(loud(processes=2), 10) == 2
    translator.on_cpu = False
    assert choose_processes(translator, BYTES_WORTH_PROCESSES) == 1
    translator.searcher.name = "another"
    assert choose_processes(translator, BYTES_WORTH_PROCESSES, 3) == 1


PROGRAM = """
import sys, time
from functools import partial
from pathlib import Path
from loud_translator import ENVIRONMENT, loud
from translator.errors import Interrupted
from translator.signals import stop_on_signals
from translator.streaming import OutputForm, Work, translate_file

if __name__ == "__main__":
    work = Work(partial(loud, meanwhile=partial(time.sleep, 0.2)), OutputForm())
    try:
        with stop_on_signals():
            translate_file(work, Path(sys.argv[1]), Path(sys.argv[2]), processes=2)
    except Interrupted as interrupted:
        sys.exit(interrupted.exit_code)
"""


def test_a_stop_signal_ends_all_processes(tmp_path: Path) -> None:
    source, output, place = tmp_path / "in", tmp_path / "out", tmp_path / "out.partial.json"
    source.write_text("a\n" * (200 * LINES_OF_A_CHUNK), encoding="utf-8")
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    program = subprocess.Popen(
        [sys.executable, str(tmp_path / "program.py"), str(source), str(output)],
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    while not (place.exists() and json.loads(place.read_text(encoding="utf-8"))["lines"]):
        assert program.poll() is None, program.communicate()[1].decode()
        time.sleep(0.01)
    program.send_signal(signal.SIGTERM)
    errors = program.communicate()[1].decode()
    assert program.returncode == 143, errors
    assert "Traceback" not in errors
    while True:  # a child that has ended may be listed for a moment longer
        try:
            os.killpg(program.pid, 0)
        except ProcessLookupError:
            break
        time.sleep(0.01)
    assert not output.exists()
