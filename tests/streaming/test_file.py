"""A file becomes a file: whole or not there, and the same bytes however often its process was killed."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from loud_translator import ENVIRONMENT, loud

from translator.errors import InputError, Interrupted, StorageError
from translator.streaming import OutputForm, Work, translate_file
from translator.streaming.lines import LINES_OF_A_CHUNK
from translator.streaming.partial import PartialOutput

WORK = Work(loud, OutputForm())

SLOW = """
import sys, time
from functools import partial
from pathlib import Path
from loud_translator import loud
from translator.streaming import OutputForm, Work, translate_file

load = partial(loud, meanwhile=partial(time.sleep, {seconds}))
translate_file(Work(load, OutputForm()), Path(sys.argv[1]), Path(sys.argv[2]))
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A file of four chunks and a bit."""
    path = tmp_path / "source.txt"
    path.write_text("".join(f"line {number}\n" for number in range(4 * LINES_OF_A_CHUNK + 7)), encoding="utf-8")
    return path


def test_a_line_for_each_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, output = tmp_path / "in", tmp_path / "out"
    source.write_bytes("\ufeffa\r\n\nb\u2028c".encode())
    output.write_text("older", encoding="utf-8")
    translate_file(WORK, source, output)
    assert output.read_bytes() == "A\n\nB\u2028C\n".encode()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "translating in: 3/3 lines" in captured.err


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf"])
def test_nothing_becomes_an_empty_file(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(content)
    translate_file(WORK, tmp_path / "in", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == b""


def test_killed_and_started_again_it_goes_on_to_the_same_bytes(source: Path, tmp_path: Path) -> None:
    output, place = tmp_path / "out", tmp_path / "out.partial.json"
    expected = source.read_text(encoding="utf-8").upper()
    program = [sys.executable, "-c", SLOW.format(seconds=0.5), str(source), str(output)]
    killed = subprocess.Popen(program, env=ENVIRONMENT, stderr=subprocess.PIPE)
    while not (place.exists() and json.loads(place.read_text(encoding="utf-8"))["lines"]):
        assert killed.poll() is None, killed.communicate()[1].decode()
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert not output.exists()
    with (tmp_path / "out.partial").open("ab") as half:
        half.write(b"half a li")  # as if it had been killed inside a write
    translator = loud()
    translate_file(Work(lambda: translator, OutputForm()), source, output)
    assert output.read_text(encoding="utf-8") == expected
    assert translator.first_lines[0] > 1, "what was done is not done again"
    assert translator.first_lines[0] % LINES_OF_A_CHUNK == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "source.txt"]


def interrupted(source: Path, output: Path, work: Work = WORK) -> None:
    """Translate two chunks, then stop."""
    calls = []

    def stop_at_third() -> None:
        calls.append(1)
        if len(calls) == 3:
            raise Interrupted(signal.SIGTERM)

    with pytest.raises(Interrupted):
        translate_file(Work(partial(loud, stop_at_third), work.form), source, output)


@pytest.mark.parametrize("what", ["input", "form", "search", "weights", "device"])
def test_what_was_made_otherwise_is_not_gone_on_with(
    what: str, source: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    output = tmp_path / "out"
    interrupted(source, output)
    translator, form = loud(), OutputForm()
    if what == "input":
        source.write_text(source.read_text(encoding="utf-8").replace("line 7\n", "line x\n"), encoding="utf-8")
    elif what == "form":
        form = OutputForm("tsv")
    elif what == "search":
        translator = loud(max_length_ratio=3.0)
    elif what == "weights":
        translator.identity = "others"
    else:
        translator.arithmetic = "cuda"
    translate_file(Work(lambda: translator, form), source, output)
    assert translator.first_lines[0] == 1
    assert "translating from the beginning" in caplog.text


def test_the_number_of_processes_is_no_reason_to_begin_anew(source: Path, tmp_path: Path) -> None:
    interrupted(source, tmp_path / "out")
    translator = loud(processes=2)
    translate_file(Work(lambda: translator, OutputForm()), source, tmp_path / "out", processes=1)
    assert translator.first_lines[0] == 2 * LINES_OF_A_CHUNK + 1


def test_a_place_beyond_the_file_is_not_believed(source: Path, tmp_path: Path) -> None:
    interrupted(source, tmp_path / "out")
    os.truncate(tmp_path / "out.partial", 10)
    translator = loud()
    translate_file(Work(lambda: translator, OutputForm()), source, tmp_path / "out")
    assert translator.first_lines[0] == 1
    assert (tmp_path / "out").read_text(encoding="utf-8") == source.read_text(encoding="utf-8").upper()


def test_a_file_of_somebody_else_is_left_alone(source: Path, tmp_path: Path) -> None:
    (tmp_path / "out.partial").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match=r"out\.partial is in the way and not ours"):
        translate_file(WORK, source, tmp_path / "out")
    assert (tmp_path / "out.partial").read_text(encoding="utf-8") == "mine"


def signed(fields: dict[str, Any]) -> dict[str, Any]:
    """Return `fields` with the checksum that a place has."""
    digest = hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
    return fields | {"own_sha256": digest}


PLACE = {"fingerprint": "f", "lines": 1, "input_bytes": 2, "output_bytes": 0}


@pytest.mark.parametrize(
    "content",
    [
        "{}]",
        "[]",
        "[" * 100_000,
        '{"output_bytes": null}',
        json.dumps(PLACE),
        json.dumps(signed(PLACE) | {"lines": 2}),
        json.dumps(signed(PLACE | {"output_bytes": None})),
        json.dumps(signed(PLACE | {"input_bytes": -1})),
        json.dumps(signed(PLACE | {"lines": True})),
        json.dumps(signed(PLACE | {"fingerprint": 1})),
        json.dumps(signed(PLACE | {"more": 1})),
    ],
)
def test_a_damaged_place_is_not_believed(content: str, source: Path, tmp_path: Path) -> None:
    (tmp_path / "out.partial").write_text("mine", encoding="utf-8")
    (tmp_path / "out.partial.json").write_text(json.dumps(signed(PLACE)), encoding="utf-8")
    with PartialOutput(tmp_path / "out") as partial_output:
        assert partial_output.place.lines == 1, "what is sound is believed"
    (tmp_path / "out.partial.json").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"out\.partial\.json is damaged, or not ours; move it"):
        translate_file(WORK, source, tmp_path / "out")
    assert (tmp_path / "out.partial").read_text(encoding="utf-8") == "mine"


def test_one_process_at_a_time(source: Path, tmp_path: Path) -> None:
    def again() -> None:
        with pytest.raises(InputError, match=r"another process is writing .*out at this moment"):
            translate_file(WORK, source, tmp_path / "out")

    translate_file(Work(partial(loud, again), OutputForm()), source, tmp_path / "out")


def test_a_line_that_is_not_utf8_is_named_before_anything_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"a\n" * 700 + b"bc\xff\na\n")
    loads: list[int] = []

    def load() -> None:
        loads.append(1)

    with pytest.raises(InputError, match=r"line 701 of the input is not UTF-8 \(byte 3 of the line\)"):
        translate_file(Work(load, OutputForm()), tmp_path / "in", tmp_path / "out")  # type: ignore[arg-type]
    assert loads == []
    assert [path.name for path in tmp_path.iterdir()] == ["in"], "no trace of work that never began"


def test_paths_that_cannot_be(source: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(source)
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    before = source.read_bytes()
    for path, output, kind, message in (
        (source, source, InputError, "is the input itself"),
        (source, tmp_path / "link", InputError, "is the input itself"),
        (source, tmp_path, InputError, "is a folder; give the name of a file in it"),
        (source, Path("/dev/null"), InputError, "is not a file on disk; leave out --output"),
        (source, tmp_path / "none" / "out", InputError, "the folder of the output .* is not there; make it first"),
        (source, tmp_path / "circle", InputError, "circle: the symbolic links of this path run in a circle"),
        (tmp_path / "circle", tmp_path / "out", StorageError, "the symbolic links of this path run in a circle"),
        (tmp_path / "none", tmp_path / "out", StorageError, "cannot read .*none: it is not there"),
        (tmp_path, tmp_path / "out", StorageError, "cannot read .*: this is a folder"),
    ):
        with pytest.raises(kind, match=message):
            translate_file(WORK, path, output)
    assert source.read_bytes() == before


def test_a_link_to_the_output_stays_a_link(source: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "out")
    translate_file(WORK, source, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "out").read_text(encoding="utf-8").startswith("LINE 0\n")


def test_an_input_that_changes_meanwhile_is_noticed(source: Path, tmp_path: Path) -> None:
    def more() -> None:
        with source.open("a", encoding="utf-8") as file:
            file.write("more\n" * LINES_OF_A_CHUNK)
            if file.tell() > 100_000:
                os.truncate(source, 0)

    with pytest.raises(InputError, match=r"source\.txt has changed while it was translated; run the same command"):
        translate_file(Work(partial(loud, more), OutputForm()), source, tmp_path / "out")
    assert not (tmp_path / "out").exists()
