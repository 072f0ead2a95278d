"""Lines of pipes and files: read as they are, translated as they arrive, in order, by one process or several."""

import io
import logging
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.loud_translator import loud
from tests.support.pipes import pipe_with
from translator.cli import main
from translator.errors import InputError, RunError
from translator.inference.files import block_translation, line_reader
from translator.inference.files.block_translation import LINES_AT_ONCE, choose_processes, start_worker, translate_stream
from translator.inference.files.document import Document
from translator.inference.files.line_reader import read_lines
from translator.inference.files.output_formats import OutputForm

BOM = b"\xef\xbb\xbf"
TEXT = OutputForm()


def through(source: int | Path, translator: Any, form: OutputForm = TEXT, paragraphs: bool = False) -> str:
    """Return what a document gives on standard output."""
    output = io.StringIO()
    translate_stream(loud, translator, Document(source, form, paragraphs=paragraphs), output)
    return output.getvalue()


# --- reading ---


@settings(max_examples=50)
@given(
    content=st.lists(st.sampled_from([b"\n", b"\r", BOM, b"ab", "گل".encode()])).map(b"".join), size=st.integers(1, 7)
)
def test_the_size_of_each_read_does_not_change_the_lines(content: bytes, size: int) -> None:
    with pipe_with(content) as whole, pipe_with(content) as parts, pytest.MonkeyPatch.context() as reading:
        texts = [text for text in read_lines(whole) if text is not None]
        reading.setattr(line_reader, "_BYTES_AT_ONCE", size)
        next_line = 1
        for block in Document(parts, TEXT).blocks(2):
            assert 1 <= len(block.texts) <= 2
            assert block.first_line == next_line
            next_line += len(block.texts)
            assert block.texts == texts[block.first_line - 1 : next_line - 1]
    assert next_line == len(texts) + 1


@pytest.mark.parametrize("end", [b"\n", b"", b"\nc\n"])
def test_lines_up_to_the_limit_pass_and_longer_ones_are_refused(end: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_reader, "LONGEST_LINE", 8)
    with pipe_with(b"a\n" + b"b" * 8 + b"\n" + b"b" * 9 + end) as source:
        blocks = Document(source, TEXT).blocks(100)
        assert next(blocks).texts == ["a", "b" * 8]
        with pytest.raises(InputError, match="line 3 of the input is longer than"):
            next(blocks)


@pytest.mark.parametrize("mebibytes", [3, 5])
def test_a_line_over_several_blocks_is_read_whole_or_refused(mebibytes: int, tmp_path: Path) -> None:
    file = tmp_path / "long.txt"
    line = "b" * (mebibytes << 20)
    file.write_text(f"a\n{line}\nc\n", encoding="ascii")
    lines = line_reader.read_lines(file)
    if mebibytes <= 4:
        assert list(lines) == ["a", line, "c"]
    else:
        with pytest.raises(InputError, match="line 2 of the input is longer than 4 MiB"):
            list(lines)


def test_a_line_that_is_not_utf8_is_translated_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with pipe_with(b"a\n" * 100 + b"bc\xffd\n" + b"\xc3\n" * 8 + "\ufffd\n".encode()) as pipe:
        written = through(pipe, loud())
    assert written == "A\n" * 100 + "BC\ufffdD\n" + "\ufffd\n" * 9
    lines = ", ".join(map(str, range(101, 111)))
    assert caplog.messages == [f"lines {lines}: bytes that are not UTF-8, or U+FFFD, are left out"]


def test_a_paragraph_may_cross_blocks_and_rules_stand_alone(tmp_path: Path) -> None:
    file = tmp_path / "long"
    file.write_text("a\n" * LINES_AT_ONCE + "b\n\n=====\n- c\nd\n```\n", encoding="utf-8")
    lines = ["A " * LINES_AT_ONCE + "B", "", "=====", "- C D", "```"]
    assert through(file, loud(), paragraphs=True).splitlines() == lines
    rows = through(file, loud(), OutputForm("tsv"), paragraphs=True).splitlines()
    assert [row.split("\t")[0] for row in rows] == list("12345"), "the lines are numbered anew"


# --- pipes ---


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
    translate_stream(loud, loud(meanwhile), Document(reading, TEXT), output)
    os.close(reading)
    assert seen == ["", "FIRST\n", "FIRST\nUNFINMORE\n"]


def test_a_reader_that_has_gone_ends_the_translation_in_silence(
    random_run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as output:
        monkeypatch.setattr(sys, "stdout", output)
        assert main(["translate", "--run", str(random_run), "--precision", "float32", "abc"]) == 0
    assert capsys.readouterr().err == ""


# --- several processes ---


@pytest.fixture
def long_text(tmp_path: Path) -> Path:
    """Enough lines for two processes, of which one is long."""
    lines = [f"line {number}\n" for number in range(2 * LINES_AT_ONCE)]
    lines[700] = "a long line 700\n"
    file = tmp_path / "text"
    file.write_text("".join(lines), encoding="utf-8")
    return file


def test_two_processes_write_the_same_output_as_one(long_text: Path, caplog: pytest.LogCaptureFixture) -> None:
    outputs = []
    for processes in (1, 2):
        caplog.clear()
        outputs.append(through(long_text, loud(processes=processes), OutputForm("tsv")))
        assert caplog.messages == ["line 701 is long"], "told once, with its number"
    assert outputs[0] == outputs[1]
    assert outputs[0].count("\n") == 2 * LINES_AT_ONCE


def test_a_worker_process_with_other_weights_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_translation, "LOGGER", logging.getLogger("worker"))
    with pytest.raises(RunError, match=r"found other weights .*run the same command again, with --checkpoint STEP"):
        start_worker(loud, Document(0, TEXT), "weights of another step")


def test_process_count_depends_on_the_engine_the_size_and_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_translation, "available_cores", lambda: 4)
    text = tmp_path / "text"
    translator = loud(processes=0)
    for size, processes in ((399_999, 1), (400_000, 4)):
        text.write_bytes(b"a" * size)
        assert choose_processes(translator, text) == processes
    assert choose_processes(translator, 0) == 1, "a pipe"
    assert choose_processes(loud(processes=64), text) == 4, "a recipe of a larger machine"
    translator.searcher.name = "ctranslate2"
    translator.search = loud(processes=2).search
    assert choose_processes(translator, text) == 1
