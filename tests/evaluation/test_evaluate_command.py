"""The `evaluate` command: what it prints and writes, and the arguments that it refuses."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.untrained import untrained_run
from translator.cli import main
from translator.evaluation import saved_scores
from translator.run.folder import RunFolder


def test_lines_left_out_are_named_on_the_console_in_scores_json_and_on_the_page(
    run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, texts in {
        "news.en": ["we stay", "you go", "no", "they sit", ""],
        "news.fa": ["می‌مانیم", "می‌روی", " ", "می‌نشینند", "پنجم"],
        "other.fa": ["", "رفتی", "\u200c", "نشستند", ""],
    }.items():
        (tmp_path / name).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    files = ":".join(str(tmp_path / name) for name in ("news.en", "news.fa", "other.fa"))
    assert main(["evaluate", "--run", str(run.path), "--test-set", f"news={files}"]) == 0
    printed = capsys.readouterr()
    note = "2 of 5 left out (lines 3, 5)"
    assert f"test set `news`: {note}" in printed.err
    assert f"3 sentences, {note}" in printed.out
    assert f"3 sentences, {note}" in (run.evaluation_folder / "report.html").read_text(encoding="utf-8")
    for score in saved_scores(run):
        assert (score.sentences, score.left_out) == (3, (3, 5))
        assert score.signature.startswith("nrefs:var|")
    second_reference = (run.evaluation_folder / "news" / "reference-2.txt").read_text(encoding="utf-8")
    assert second_reference == "\nرفتی\nنشستند\n"


@pytest.fixture
def run(tiny: Any) -> RunFolder:
    return untrained_run(tiny("evaluation.metrics=[bleu, chrf, spbleu]"))


def test_evaluate_command_prints_scores_with_intervals(run: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--run", str(run.path), "--output", str(run.path / "page"), "--search", "greedy"]) == 0
    out = capsys.readouterr().out
    for text in (
        "ZWNJ as space",
        "95% bootstrap interval",
        "signature of bleu: nrefs:1|bs:40|seed:12345",
        "not computed: spBLEU needs the SentencePiece model",
    ):
        assert text in out
    assert "toy: sentences with mistakes" in out
    assert (run.path / "page" / "report.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--split", "validation", "--test-set", "x.tsv"], "--split selects"),
        (["--no-report", "--output", "x"], "leave out one"),
        (["--ensemble"], "--ensemble needs at least two runs"),
        (["--test-set", "nowhere.tsv"], "`nowhere.tsv` cannot be found"),
        (["--checkpoint", "7"], "7"),
        (["--set", "evaluation.metrics=[]"], "evaluation.metrics"),
    ],
)
def test_evaluate_command_reports_wrong_arguments_without_traceback(
    run: RunFolder, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", "--run", str(run.path), *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err


def test_unwritable_output_is_reported_before_scoring(
    run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("translator.evaluation.evaluate.compute_scores")
    (tmp_path / "page" / "report.html").mkdir(parents=True)
    assert main(["evaluate", "--run", str(run.path), "--output", str(tmp_path / "page")]) == 2
    assert f"translator: cannot write {tmp_path / 'page' / 'report.html'}: " in capsys.readouterr().err
