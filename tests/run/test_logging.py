"""Messages, progress without a terminal, and timed stages."""

import errno
import io
import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from tqdm import tqdm

from translator.run.logging import LOGGER, RECORD, SECONDS_BETWEEN_LINES, log_to_console, log_to_file, progress_bar

FULL = Path("/dev/full")
Capture = pytest.CaptureFixture[str]


def test_the_console_gets_each_message_once_and_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_console()
    log_to_console()
    LOGGER.info("step %d", 3)
    LOGGER.warning("careful: \x1b[2J\u202e: متن‌ها")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "step 3\nwarning: careful: \\x1b[2J\\u202e: متن‌ها\n")


def test_log_file_records_only_messages_inside_its_block(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run" / "log.txt"
    log_to_console()
    for word in ("گل\x1b", "second"):
        with log_to_file(path):
            RECORD.info(word)
        LOGGER.warning("outside")
    assert capsys.readouterr().err == "warning: outside\n" * 2, "the record is for the file alone"
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [re.sub(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} ", "", line) for line in lines] == [
        "INFO گل\\x1b",
        "INFO second",
    ]


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
def test_full_disk_warns_once_and_work_continues_without_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    with log_to_file(FULL):
        for step in range(3):
            LOGGER.info("step %d", step)
    said = f"warning: cannot write {FULL}: {os.strerror(errno.ENOSPC)}; continuing without this log\n"
    assert capsys.readouterr().err == said


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    clock = SimpleNamespace(now=5000.0)
    for name in ("translator.run.logging.time.monotonic", "tqdm.std.time"):
        monkeypatch.setattr(name, lambda: clock.now)
    return clock


def test_progress_without_a_terminal_is_printed_as_plain_lines(clock: SimpleNamespace, capsys: Capture) -> None:
    bar: tqdm[object] = progress_bar(description="training", total=6000, initial=1000, unit="step")
    with bar:
        for _ in range(250):
            clock.now += 0.9
            bar.update()
            bar.set_postfix_str("loss 3.412, 5,210 tokens/s", refresh=False)
    text = capsys.readouterr().err
    lines = text.splitlines()
    assert re.fullmatch(r"training: 12\d\d/6000 step \[03:3\d<1:11:\d\d, .*, loss 3.412, 5,210 tokens/s\]", lines[-2])
    assert lines[-1].startswith("training: 1250/6000 step [03:4")
    assert len(lines) <= 250 * 0.9 / SECONDS_BETWEEN_LINES + 1
    assert not {"\r", "\x1b", "\b"} & set(text)


def test_after_an_error_the_next_message_has_a_line_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stderr", terminal)
    with pytest.raises(KeyboardInterrupt), progress_bar(description="training", total=9):
        raise KeyboardInterrupt
    assert terminal.getvalue().endswith(" \r"), "the bar is wiped out, and the cursor is at the start of its line"


def test_without_a_terminal_short_work_prints_no_progress(clock: SimpleNamespace, capsys: Capture) -> None:
    bar: tqdm[object] = progress_bar(description="training", unit="step")
    with pytest.raises(KeyError), bar:
        bar.update(3)
        raise KeyError
    assert capsys.readouterr().err == ""
