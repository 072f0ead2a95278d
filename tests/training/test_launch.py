"""How a run of several processes ended, told in one voice."""

import json
import signal
from pathlib import Path

import pytest

from translator.errors import CorpusError, Interrupted, RunError, TranslatorError
from translator.training import launch as launching
from translator.training.launch import _judge, _told, handed_over, launched
from translator.training.lost_process import LostProcessError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Be rank 1 of two processes that were launched; return the folder of the failures."""
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("TRANSLATOR_FAILURES", str(tmp_path))
    monkeypatch.setattr(launching, "_COURTESY", 0.0)
    return tmp_path


def judge(*failures: tuple[int, int], told: tuple[str, ...] = (), stopped_by: int | None = None) -> int:
    return _judge(failures, told, stopped_by, 4)


def test_all_is_well() -> None:
    assert judge() == 0


def test_the_first_killed_process_is_named() -> None:
    with pytest.raises(LostProcessError, match=r"process 2 of 4 was lost \(Killed, most likely .*unharmed"):
        judge((2, -signal.SIGKILL), (0, 2), (1, -signal.SIGTERM), (3, -signal.SIGKILL))
    with pytest.raises(LostProcessError, match=r"process 3 of 4 was lost \(Segmentation fault\)"):
        judge((3, -signal.SIGSEGV), (0, 2))


def test_a_mistake_is_told_before_all_else() -> None:
    with pytest.raises(TranslatorError, match=r"^the disk is full$"):
        judge((0, 2), (1, -signal.SIGTERM), told=("the disk is full", "the disk is full"), stopped_by=signal.SIGTERM)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_stop_is_a_stop_whoever_got_the_signal(number: int, code: int) -> None:
    with pytest.raises(Interrupted) as caught:
        judge(stopped_by=number)
    assert caught.value.exit_code == code
    with pytest.raises(Interrupted) as caught:
        judge((0, code), (1, -signal.SIGTERM))
    assert caught.value.exit_code == code


def test_a_bug_has_said_all_that_there_is_to_say() -> None:
    assert judge((1, 1), (0, 2)) == 1


def test_an_exit_nobody_expects_is_told() -> None:
    with pytest.raises(RunError, match="process 1 of 4 ended with exit code 9"):
        judge((1, 9))
    with pytest.raises(RunError, match="process 1 of 4 ended with exit code 2"):
        judge((1, 2), (0, -signal.SIGTERM))


def test_mistakes_are_handed_over_once_for_all(folder: Path) -> None:
    assert handed_over(CorpusError("خطا\nin line 3"))
    assert _told(folder) == ["خطا\nin line 3"]
    assert [json.loads(path.read_text("utf-8")) for path in folder.iterdir()] == ["خطا\nin line 3"]


def test_what_others_caused_is_not_told(folder: Path) -> None:
    assert handed_over(LostProcessError("one is gone")) and handed_over(Interrupted(signal.SIGTERM))
    assert _told(folder) == []


def test_a_mistake_that_cannot_be_handed_over_is_told_here(folder: Path) -> None:
    folder.rmdir()
    assert not handed_over(CorpusError("no corpus"))


@pytest.mark.parametrize("missing", ["TRANSLATOR_FAILURES", "RANK"])
def test_without_our_launcher_everybody_tells(folder: Path, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.delenv(missing)
    assert not handed_over(CorpusError("no corpus")) and not handed_over(Interrupted(signal.SIGTERM))
    assert launched() == (missing != "RANK")
    assert list(folder.iterdir()) == []
