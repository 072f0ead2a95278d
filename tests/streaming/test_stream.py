"""Lines go through as they come, and nothing but translations reaches the output."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loud_translator import ENVIRONMENT, STOPPABLE, loud

from translator.errors import InputError, StorageError
from translator.streaming import OutputForm, Work, bytes_on_disk, translate_redirected, translate_stream, write_lines
from translator.streaming import lines as lines_module
from translator.streaming.lines import survey

BOM = b"\xef\xbb\xbf"
WORK = Work(loud, OutputForm())


def pipe_with(content: bytes) -> int:
    """Return the reading end of a pipe that holds `content` and ends after it."""
    reading, writing = os.pipe()
    os.write(writing, content)
    os.close(writing)
    return reading


def lines_read(content: bytes) -> list[str]:
    """Return the texts that the translator is given for `content`."""
    source, translator, output = pipe_with(content), loud(), io.StringIO()
    translate_stream(WORK, translator, source, output)
    os.close(source)
    texts = [text for group in translator.groups for text in group]
    assert output.getvalue() == "".join(f"{text.upper()}\n" for text in texts)
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
        patch.setattr(lines_module, "BYTES_AT_ONCE", size)
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
    translate_stream(WORK, loud(meanwhile), reading, output)
    os.close(reading)
    assert seen == ["", "FIRST\n", "FIRST\nUNFINMORE\n"]


def test_lines_that_wait_go_together_few_at_first_and_never_too_many() -> None:
    source, translator = pipe_with(b"a\n" * 3000), loud()
    translate_stream(WORK, translator, source, io.StringIO())
    os.close(source)
    assert [len(group) for group in translator.groups] == [64, 128, 256, 512, 1024, 1016]
    assert translator.first_lines == [1, 65, 193, 449, 961, 1985]


def test_what_a_pipe_gives_is_never_held_in_memory() -> None:
    reading, writing = os.pipe()
    line = b"x" * 99 + b"\n"
    block = line * 1000
    written = done = 0
    ahead: list[int] = []

    def write() -> None:
        nonlocal written
        while written < 60 * len(block):
            written += len(block)
            os.write(writing, block)
        os.close(writing)

    def measure() -> None:
        nonlocal done
        done += len(translator.groups.pop()) * len(line)
        ahead.append(written - done)

    writer = threading.Thread(target=write)
    writer.start()
    translator = loud(measure)
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        translate_stream(WORK, translator, reading, nowhere)
    writer.join()
    os.close(reading)
    assert done == written
    # One read is at work; what is written beyond it waits in the pipe, which holds no more than a read, or outside it.
    assert max(ahead) <= 2 * lines_module.BYTES_AT_ONCE + len(block) + len(line)


def test_no_more_is_read_than_is_needed(tmp_path: Path) -> None:
    line = b"x" * 99 + b"\n"
    (tmp_path / "long").write_bytes(line * 10_000)
    source = os.open(tmp_path / "long", os.O_RDONLY)
    ahead: list[int] = []

    def measure() -> None:
        taken = sum(len(group) for group in translator.groups) * len(line)
        ahead.append(os.lseek(source, 0, os.SEEK_CUR) - taken)

    translator = loud(measure)
    translate_stream(WORK, translator, source, io.StringIO())
    os.close(source)
    assert len(ahead) >= 10
    assert max(ahead) <= lines_module.BYTES_AT_ONCE


def test_an_input_that_does_not_wait_is_waited_for() -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)

    def write() -> None:
        os.write(writing, b"late\n")
        os.close(writing)

    later = threading.Timer(0.2, write)
    later.start()
    output = io.StringIO()
    translate_stream(WORK, loud(), reading, output)
    later.join()
    os.close(reading)
    assert output.getvalue() == "LATE\n"


def test_a_line_that_is_not_utf8_is_named_after_those_before_it() -> None:
    source, output = pipe_with(b"a\n" * 1500 + b"bc\xff\na\n"), io.StringIO()
    with pytest.raises(InputError, match=r"line 1501 of the input is not UTF-8 \(byte 3 of the line\); convert"):
        translate_stream(WORK, loud(), source, output)
    os.close(source)
    assert output.getvalue() == "A\n" * 1500


def test_an_input_that_cannot_be_read(tmp_path: Path) -> None:
    source = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(StorageError, match="cannot read standard input: this is a folder"):
        translate_stream(WORK, loud(), source, io.StringIO())
    os.close(source)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_said_once_and_not_again_at_the_end() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as output:
        with pytest.raises(StorageError, match="cannot write standard output: the disk is full; free some space"):
            write_lines(output, ["a"])
        output.flush()


def test_a_reader_that_does_not_read_cannot_hold_up_a_stop(tmp_path: Path) -> None:
    (tmp_path / "long").write_bytes(b"abcdefg\n" * 100_000)
    code = STOPPABLE.format(call="translate_stream(Work(loud, OutputForm()), loud(), sys.stdin.fileno(), sys.stdout)")
    with (tmp_path / "long").open("rb") as text:
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            bufsize=0,
            stdin=text,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=ENVIRONMENT,
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


@pytest.mark.parametrize(
    "content", [b"", BOM, BOM + b"\n", b"a\r\n\xef\xbb\xbfb\n\n", b"a\nb", "a\u2028b\x0cc\n".encode(), b"x\n" * 2000]
)
def test_a_redirected_file_gives_the_lines_that_a_pipe_gives(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(content)
    piped, redirected = io.StringIO(), io.StringIO()
    source = os.open(tmp_path / "text", os.O_RDONLY)
    assert bytes_on_disk(source) == len(content)
    translate_redirected(WORK, loud(), source, redirected, 1)
    os.lseek(source, 0, os.SEEK_SET)
    translate_stream(WORK, loud(), source, piped)
    os.close(source)
    assert redirected.getvalue() == piped.getvalue()


def test_a_redirected_line_that_is_not_utf8_is_named_after_those_before_it(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"a\n" * 1500 + b"bc\xff\na\n")
    source, output = os.open(tmp_path / "text", os.O_RDONLY), io.StringIO()
    with pytest.raises(InputError, match=r"line 1501 of the input is not UTF-8 \(byte 3 of the line\); convert"):
        translate_redirected(WORK, loud(), source, output, 1)
    os.close(source)
    assert output.getvalue() == "A\n" * 1500


def test_a_pipe_is_not_on_disk() -> None:
    source = pipe_with(b"a")
    assert bytes_on_disk(source) is None
    os.close(source)


def test_a_line_without_end_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines_module, "LONGEST_LINE", 1 << 20)
    message = "line 1 of the input is longer than 1 MiB, so it is no text"
    with Path("/dev/zero").open("rb") as zeros, pytest.raises(InputError, match=message):
        translate_stream(WORK, loud(), zeros.fileno(), io.StringIO())
    (tmp_path / "text").write_bytes(b"a\nb\n" + b"c" * (3 << 20) + b"\nd\n")
    source = os.open(tmp_path / "text", os.O_RDONLY)
    for translate in (translate_stream, partial(translate_redirected, processes=1)):
        output = io.StringIO()
        with pytest.raises(InputError, match="line 3 of the input is longer than 1 MiB"):
            translate(WORK, loud(), source, output)
        assert output.getvalue() == "A\nB\n"
        os.lseek(source, 0, os.SEEK_SET)
    os.close(source)


@pytest.mark.parametrize(("length", "fits"), [(8, True), (9, False)])
@pytest.mark.parametrize("end", [b"\n", b"", b"\nc\n"])
def test_a_line_may_be_as_long_as_the_longest_however_it_is_read(
    length: int, fits: bool, end: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines_module, "LONGEST_LINE", 8)
    monkeypatch.setattr(lines_module, "BYTES_AT_ONCE", 4)
    (tmp_path / "text").write_bytes(b"a\n" + b"b" * length + end)

    def surveyed(work: Work, translator: object, source: int, output: io.StringIO) -> None:
        survey(tmp_path / "text")

    source = os.open(tmp_path / "text", os.O_RDONLY)
    for read in (surveyed, translate_stream, partial(translate_redirected, processes=1)):
        os.lseek(source, 0, os.SEEK_SET)
        output = io.StringIO()
        with contextlib.nullcontext() if fits else pytest.raises(InputError, match="line 2 of the input is longer"):
            read(WORK, loud(), source, output)
        if read is not surveyed:
            assert output.getvalue().startswith("A\nBBBBBBBB\n" if fits else "A\n")
    os.close(source)
