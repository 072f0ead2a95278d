"""Translating a file: the output is complete or absent, with the same bytes however often the process was killed."""

import gzip
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.loud_translator import ENVIRONMENT, STOPPABLE, loud
from translator.errors import CorpusError, InputError, Interrupted, StorageError
from translator.inference.files.file_translation import translate_file
from translator.inference.files.line_reader import FILE, Chunk, read_lines
from translator.inference.files.line_translation import Work
from translator.inference.files.output_formats import OutputForm

WORK = Work(loud, OutputForm())
LINES = FILE.at_most
SLOW = STOPPABLE.format(
    call="translate_file(Work(partial(loud, partial(time.sleep, float(sys.argv[3])), processes=int(sys.argv[4])), "
    "OutputForm()), Path(sys.argv[1]), Path(sys.argv[2]))"
)


def has_written_lines(folder: Path) -> bool:
    """Whether a partial file has its head and a chunk."""
    return any(path.read_bytes().count(b"\n") > 1 for path in folder.glob("*.partial"))


def begun(source: Path, output: Path, processes: int, program: Path) -> "subprocess.Popen[bytes]":
    """Start a slow translation in a process of its own, and wait until it has written something."""
    program.write_text(SLOW, encoding="utf-8")
    seconds_per_call = "0.2"
    started = subprocess.Popen(
        [sys.executable, str(program), str(source), str(output), seconds_per_call, str(processes)],
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    while not has_written_lines(output.parent):
        if started.poll() is not None:
            _, errors = started.communicate()
            pytest.fail(errors.decode())
        time.sleep(0.01)
    return started


def upper_case(source: Path) -> str:
    """Return the translation of a file."""
    return source.read_text(encoding="utf-8").upper()


def interrupted(source: Path, output: Path) -> Path:
    calls = []

    def stop_at_third() -> None:
        calls.append(1)
        if len(calls) == 3:
            raise Interrupted(signal.SIGTERM)

    with pytest.raises(Interrupted):
        translate_file(Work(partial(loud, stop_at_third), OutputForm()), source, output)
    (partial_file,) = output.parent.glob(f"{output.name}.*.partial")
    return partial_file


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source.txt"
    lines = [f"line {number}\n" for number in range(4 * LINES + 7)]  # five chunks
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("content", "expected"), [("\ufeffa\r\n\nb\u2028c", "A\n\nB\u2028C\n"), ("", ""), ("\ufeff", "")]
)
def test_lines_map_one_to_one(content: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, output = tmp_path / "in", tmp_path / "out"
    source.write_bytes(content.encode())
    output.write_text("older", encoding="utf-8")
    translate_file(WORK, source, output)
    assert output.read_bytes() == expected.encode()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "translating in: 3/3" in captured.err or not expected


@pytest.mark.parametrize("pack", [lambda text: gzip.compress(text.encode()), lambda text: text.encode("utf-16")])
def test_a_packed_file_and_one_in_utf16_are_translated(pack: Callable[[str], bytes], tmp_path: Path) -> None:
    source, output = tmp_path / "in", tmp_path / "out"
    source.write_bytes(pack("a\r\nb\u2028c\r\n"))
    translate_file(WORK, source, output)
    assert output.read_text(encoding="utf-8") == "A\nB\u2028C\n"


def test_a_file_in_another_encoding_is_refused_before_the_model_is_loaded(tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.write_bytes("The café is open.\n".encode("latin-1"))
    with pytest.raises(CorpusError, match=r"in is not UTF-8 \(1 of its first 1 lines\); .*iconv -f WINDOWS-1252"):
        translate_file(Work(pytest.fail, OutputForm()), source, tmp_path / "out")


def test_a_killed_file_translation_resumes_to_the_same_bytes(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A process that was killed inside a write.
    output = tmp_path / "out"
    killed = begun(source, output, 1, tmp_path / "program.py")
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert not output.exists()
    (partial_file,) = tmp_path.glob("*.partial")
    with partial_file.open("ab") as file:
        file.write(b"half a li" * 9999)

    # The same translation with another number of processes, which does not restart the work.
    monkeypatch.setattr("translator.inference.files.line_translation.available_cores", lambda: 1)
    translator = loud(processes=2)
    translate_file(Work(lambda: translator, OutputForm()), source, output)
    assert output.read_text(encoding="utf-8") == upper_case(source)
    first_line = translator.first_lines[0]
    assert first_line > 1, "what was done is not done again"
    assert first_line % LINES == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "program.py", "source.txt"]


@pytest.mark.parametrize("what", ["input", "form", "search", "weights", "device"])
def test_a_partial_file_of_other_input_or_settings_is_kept_not_resumed(what: str, source: Path, tmp_path: Path) -> None:
    older = interrupted(source, tmp_path / "out")
    before = older.read_bytes()
    assert before.count(b"\n") == 3, "the head, and two chunks"

    # The next translation differs in `what` alone.
    translator = loud(max_length_ratio=3.0 if what == "search" else 2.0)
    if what == "input":
        text = source.read_text(encoding="utf-8")
        source.write_text(text.replace("line 7\n", "line x\n"), encoding="utf-8")
    elif what == "weights":
        translator.identity = "others"
    elif what == "device":
        translator.searcher.arithmetic = "cuda"
    form = OutputForm("tsv") if what == "form" else OutputForm()

    translate_file(Work(lambda: translator, form), source, tmp_path / "out")
    assert translator.first_lines[0] == 1
    assert older.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"out", "source.txt", older.name}


def damaged_head(chunks: list[bytes]) -> list[bytes]:
    return [chunks[0][:10]]


def cut_short(chunks: list[bytes]) -> list[bytes]:
    return [*chunks[:2], chunks[2][:50]]


def without_the_first(chunks: list[bytes]) -> list[bytes]:
    return [chunks[0], chunks[2]]


def in_another_order(chunks: list[bytes]) -> list[bytes]:
    return [chunks[0], chunks[2], chunks[1]]


def with_another_translation(chunks: list[bytes]) -> list[bytes]:
    return [*chunks[:2], chunks[2].replace(b"LINE 700", b"LINE 701")]


def with_numbers_alone(chunks: list[bytes]) -> list[bytes]:
    return [*chunks[:2], b"[7]\n"]


@pytest.mark.parametrize(
    ("harm", "first_line"),
    [
        (damaged_head, 1),
        (cut_short, LINES + 1),
        (without_the_first, 1),
        (in_another_order, 1),
        (with_another_translation, LINES + 1),
        (with_numbers_alone, LINES + 1),
    ],
)
def test_lines_of_a_partial_file_that_do_not_fit_are_translated_again(
    harm: Callable[[list[bytes]], list[bytes]], first_line: int, source: Path, tmp_path: Path
) -> None:
    partial_file = interrupted(source, tmp_path / "out")
    chunks = partial_file.read_bytes().splitlines(keepends=True)
    partial_file.write_bytes(b"".join(harm(chunks)))
    translator = loud()
    translate_file(Work(lambda: translator, OutputForm()), source, tmp_path / "out")
    assert translator.first_lines[0] == first_line
    assert (tmp_path / "out").read_text(encoding="utf-8") == upper_case(source)


def test_a_stranger_with_the_name_of_a_partial_file_stays(source: Path, tmp_path: Path) -> None:
    partial_file = interrupted(source, tmp_path / "out")
    partial_file.write_text("the user's", encoding="utf-8")
    with pytest.raises(InputError, match=r"partial is not a part of this translation; move it away"):
        translate_file(WORK, source, tmp_path / "out")
    assert partial_file.read_text(encoding="utf-8") == "the user's"


def test_a_second_process_cannot_write_the_same_output(source: Path, tmp_path: Path) -> None:
    def again() -> None:
        with pytest.raises(InputError, match=r"another process is writing .*out; wait for it"):
            translate_file(WORK, source, tmp_path / "out")

    translate_file(Work(partial(loud, again), OutputForm()), source, tmp_path / "out")


@pytest.mark.parametrize(
    ("input_name", "output_name", "kind", "message"),
    [
        ("source.txt", "link", InputError, "is the input itself"),
        ("source.txt", ".", StorageError, "this is a folder"),
        ("source.txt", "fifo", StorageError, "fifo: it is a pipe or a device, not a file"),
        ("fifo", "out", InputError, "the input .*fifo is not a file on disk"),
    ],
)
def test_unusable_input_and_output_paths_are_refused(
    input_name: str, output_name: str, kind: type[Exception], message: str, source: Path, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(source)
    os.mkfifo(tmp_path / "fifo")
    before = source.read_bytes()
    with pytest.raises(kind, match=message):
        translate_file(WORK, tmp_path / input_name, tmp_path / output_name)
    assert source.read_bytes() == before
    assert (tmp_path / "fifo").is_fifo()


def test_output_appends_to_an_open_descriptor(source: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("before\n", encoding="utf-8")
    with log.open("ab") as output:
        program = [sys.executable, "-c", SLOW, str(source), "/dev/stdout", "0", "1"]
        subprocess.run(program, check=True, stdout=output, env=ENVIRONMENT)
    assert log.read_text(encoding="utf-8") == f"before\n{source.read_text(encoding='utf-8').upper()}"


def test_output_keeps_a_symbolic_link(source: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "out")
    translate_file(WORK, source, link)
    assert link.is_symlink()
    assert (tmp_path / "out").read_text(encoding="utf-8") == upper_case(source)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "out", "source.txt"]


def test_an_output_of_the_same_work_is_reused_until_the_text_changes(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = translate_file(WORK, source, out)
    written = out.stat().st_ino
    assert translate_file(WORK, source, out, first) == first
    assert out.stat().st_ino == written
    source.write_text("other\n", encoding="utf-8")
    assert translate_file(WORK, source, out, first) != first
    assert out.read_text(encoding="utf-8") == "OTHER\n"


def lengthen(source: Path) -> None:
    with source.open("a", encoding="utf-8") as file:
        file.write("more\n")


def shorten(source: Path) -> None:
    os.truncate(source, 20)


def rewrite_the_last_line(source: Path) -> None:
    """Keep the number of lines, and of bytes."""
    text = source.read_text(encoding="utf-8")
    source.write_text(f"{text[:-3]}xy\n", encoding="utf-8")


def translate_while_changing(source: Path, change: Callable[[Path], None], output: Path) -> None:
    """Translate a file that changes at each call of the translator."""
    changing_translator = partial(loud, partial(change, source))
    translate_file(Work(changing_translator, OutputForm()), source, output)


@pytest.mark.parametrize("change", [lengthen, shorten, rewrite_the_last_line])
def test_an_input_that_changes_during_translation_is_refused(
    change: Callable[[Path], None], source: Path, tmp_path: Path
) -> None:
    long_line = "line of a long text " * 50
    source.write_text(f"{long_line}\n" * (4 * LINES), encoding="utf-8")  # more than one read
    with pytest.raises(InputError, match=r"source\.txt changed during its translation; run the same command again"):
        translate_while_changing(source, change, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_input_that_grows_by_whole_chunks_is_refused(source: Path, tmp_path: Path) -> None:
    source.write_text("line\n" * LINES, encoding="utf-8")
    with pytest.raises(InputError, match="changed during its translation"):
        translate_while_changing(source, lengthen, tmp_path / "out")


def test_an_input_that_changes_while_it_is_hashed_is_refused_before_a_model_is_loaded(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_and_change(path: Path, *arguments: Any, **options: Any) -> Iterator[Chunk]:
        yield from read_lines(path, *arguments, **options)
        rewrite_the_last_line(source)

    monkeypatch.setattr("translator.inference.files.line_translation.read_lines", read_and_change)
    monkeypatch.setattr("translator.inference.files.file_translation.check_source", lambda *_: None)
    with pytest.raises(InputError, match=r"source\.txt changed during its translation"):
        translate_file(Work(pytest.fail, OutputForm()), source, tmp_path / "out")


def test_what_was_translated_before_an_input_changed_is_continued_when_it_is_back(source: Path, tmp_path: Path) -> None:
    text = source.read_bytes()
    with pytest.raises(InputError, match="changed during its translation"):
        translate_while_changing(source, lengthen, tmp_path / "out")

    source.write_bytes(text)
    translator = loud()
    translate_file(Work(lambda: translator, OutputForm()), source, tmp_path / "out")
    assert translator.first_lines == [] or translator.first_lines[0] > 1
    assert (tmp_path / "out").read_text(encoding="utf-8") == upper_case(source)


@pytest.mark.parametrize(("rows_before", "rows_after"), [(4096, 4096), (64, 4096), (4096, 64)])
def test_no_line_is_lost_if_the_next_program_takes_other_batches(
    rows_before: int, rows_after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A partial file of other batches does not count by itself; let it.
    monkeypatch.setattr("translator.inference.files.file_translation._fingerprint", lambda *_: "0" * 64)
    source = tmp_path / "in"
    lines = [f"line {number}\n" for number in range(10_000)]
    source.write_text("".join(lines), encoding="utf-8")

    def stop_at_the_second_call() -> None:
        if len(first.groups) == 2:
            raise KeyboardInterrupt

    first = loud(stop_at_the_second_call)
    first.searcher.batch_rows = rows_before
    with pytest.raises(KeyboardInterrupt):
        translate_file(Work(lambda: first, OutputForm()), source, tmp_path / "out")

    second = loud()
    second.searcher.batch_rows = rows_after
    translate_file(Work(lambda: second, OutputForm()), source, tmp_path / "out")
    assert second.first_lines[0] > 1
    assert (tmp_path / "out").read_text(encoding="utf-8") == upper_case(source)


def test_a_stop_signal_ends_all_processes(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("a\n" * (200 * LINES), encoding="utf-8")
    program = begun(tmp_path / "in", tmp_path / "out", 2, tmp_path / "program.py")
    program.send_signal(signal.SIGTERM)
    _, errors = program.communicate()
    assert program.returncode == 143, errors.decode()
    assert b"Traceback" not in errors
    with pytest.raises(ProcessLookupError):
        while True:  # a child that has ended may be listed for a moment longer
            os.killpg(program.pid, 0)
            time.sleep(0.01)
    assert not (tmp_path / "out").exists()
