"""The verb doctor, as a person and as a program meet it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from translator import doctor
from translator.cli import main
from translator.doctor import Examination, Finding, examine

FINE = Finding("torch", "2.13.0")
LACKING = Finding("extra export", "lacks ctranslate2", "note", "install it with: pip install ctranslate2")
BROKEN = Finding("runs/", "/here", "wrong", "the file system is read-only; choose a folder on a writable one")

Findings = Callable[..., None]


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Findings:
    """Let the machine be as a test says."""
    return lambda *findings: monkeypatch.setattr(doctor, "examine", lambda folder: Examination(findings))


def test_a_good_machine_ends_well_and_says_what_next(found: Findings, capsys: pytest.CaptureFixture[str]) -> None:
    found(FINE, LACKING)
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[2:4]] == [
        ["ok", "torch", "2.13.0"],
        ["note", "extra", "export", "lacks", "ctranslate2"],
    ]
    assert "  extra export: install it with: pip install ctranslate2" in lines
    assert lines[-1] == "One can train here: translator train --config sample"


def test_a_broken_one_ends_with_what_to_do(found: Findings, capsys: pytest.CaptureFixture[str]) -> None:
    found(FINE, BROKEN)
    assert main(["doctor"]) == 2
    captured = capsys.readouterr()
    assert "Wrong, one cannot train:\n  runs/: the file system is read-only" in captured.out
    assert captured.err == "translator: one cannot train here: runs/; what to do is said above\n"


def test_a_program_reads_the_same(found: Findings, capsys: pytest.CaptureFixture[str]) -> None:
    found(FINE, LACKING)
    assert main(["doctor", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "can_train": True,
        "findings": [
            {"name": "torch", "found": "2.13.0", "verdict": "ok", "advice": ""},
            {"name": "extra export", "found": "lacks ctranslate2", "verdict": "note", "advice": LACKING.advice},
        ],
    }
    found(BROKEN)
    assert main(["doctor", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["can_train"] is False


def test_one_can_train_where_the_tests_run(tmp_path: Path) -> None:
    examination = examine(tmp_path)
    assert examination.wrong == []
    names = {finding.name for finding in examination.findings}
    assert {"Python", "torch", "CPU", "matrix products", "threads", "memory", "runs/", "text", "extra export"} <= names
    assert all(finding.advice for finding in examination.findings if finding.verdict != "ok")
