"""The verb evaluate: what it prints, what it writes, and how it ends."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from evaluation.held_out_runs import FEW
from toy import write_pairs
from untrained import untrained_run

from translator.cli import main
from translator.cli.scores import score_table, slice_table
from translator.evaluation.metrics import Score
from translator.evaluation.slices import Slice
from translator.run_folder import RunFolder


@pytest.fixture
def run(tiny: Any) -> RunFolder:
    return untrained_run(tiny(FEW, "evaluation.metrics=[bleu, chrf, comet]"))


def test_it_prints_scores_with_intervals_side_by_side(run: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--run", str(run.path), "--output", str(run.path / "page"), "--search", "greedy"]) == 0
    out = capsys.readouterr().out
    heading = out.splitlines()[0]
    assert [heading.index(text) for text in ("raw", "both sides", "ZWNJ as space")] == sorted(
        heading.index(text) for text in ("raw", "both sides", "ZWNJ as space")
    )
    assert "95% interval" in out
    assert "bleu: nrefs:1|bs:40|seed:12345" in out
    assert "not computed: COMET needs a model" in out
    assert "Diagnosis of toy" in out
    assert (run.path / "page" / "report.html").is_file()
    entry = json.loads((run.evaluation_folder / "scores.json").read_text(encoding="utf-8"))[0]
    assert (entry["metric"], entry["normalization"]) == ("bleu", "raw")
    assert entry["interval"][0] <= entry["score"] <= entry["interval"][1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--split", "validation", "--test-set", "x.tsv"], "--split validation is of the run's own sentences"),
        (["--no-report", "--output", "x"], "leave out one"),
        (["--ensemble"], "--ensemble needs two runs or more"),
        (["--test-set", "nowhere.tsv"], "`nowhere.tsv` cannot be found"),
        (["--checkpoint", "7"], "7"),
        (["--set", "evaluation.bootstrap_samples=3"], "evaluation.bootstrap_samples"),
    ],
)
def test_a_mistake_is_one_message(
    run: RunFolder, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", "--run", str(run.path), *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.err.splitlines()[-1].startswith("translator: ") or message in captured.err
    assert message in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.parametrize("in_the_way", ["page", "page/report.html"])
def test_an_output_that_cannot_be_written_is_said_before_the_work(
    run: RunFolder,
    tmp_path: Path,
    in_the_way: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A file where the folder should be, or a folder where the page should be."""
    monkeypatch.delattr("translator.evaluation.scoring.counts_of_scores")
    if in_the_way == "page":
        (tmp_path / in_the_way).write_text("mine")
    else:
        (tmp_path / in_the_way).mkdir(parents=True)
    assert main(["evaluate", "--run", str(run.path), "--output", str(tmp_path / "page")]) == 2
    assert f"translator: cannot write {tmp_path / in_the_way}: " in capsys.readouterr().err


def test_two_runs_of_one_name_are_two_systems(
    run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "seed2" / run.path.name
    shutil.copytree(run.path, other, symlinks=True)
    only_bleu = ["--set", "evaluation.metrics=[bleu]", "--search", "greedy", "--no-report"]
    assert main(["evaluate", "--run", str(run.path), "--run", str(other), *only_bleu]) == 0
    out = capsys.readouterr().out.splitlines()
    first, second = out.index("run"), out.index("run (2)")
    headings = [line for line in out if line.startswith("Diagnosis of ")]
    assert headings == [f"Diagnosis of toy, {label}, step-000005, greedy" for label in ("run", "run (2)")]
    assert out[first + 1].split()[:2] == out[second + 1].split()[:2] == ["test", "set"]
    part = Slice("toy", "step-000005", "greedy", "length", "1–5 words", 3, {"bleu": 1.0})
    heading, _, *parts = slice_table([[part], [part]], ["run", "run (2)"])
    assert heading.split()[:3] == ["system", "test", "set"]
    assert [line.startswith("run (2) ") for line in parts] == [False, True]


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize(
    ("value", "flags"),
    [
        ("runs/first runs/second", "evaluate --run 'runs/first' --run 'runs/second'"),
        ("runs/my first", "evaluate --run 'runs/my first'"),
        ("runs/my second", "evaluate --run 'runs/my' --run 'second'"),  # it is not there, and so it may be two
    ],
)
def test_make_knows_a_run_with_a_space_in_its_path_from_two_runs(value: str, flags: str, tmp_path: Path) -> None:
    (tmp_path / "runs" / "my first").mkdir(parents=True)
    (tmp_path / "runs" / "my first" / "config.yaml").touch()
    makefile = Path(__file__).parents[2] / "Makefile"
    command = ["make", "-n", "-f", str(makefile), "evaluate", f"RUN={value}"]
    for file in ("pyproject.toml", "constraints.txt"):
        (tmp_path / file).touch()
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert flags in " ".join(told.split())


def test_a_stop_signal_leaves_nothing_half_written(run: RunFolder, tmp_path: Path) -> None:
    pairs = [(f"{'abcdefgh'[n % 8]} {n:05d}", f"در {n:05d}") for n in range(20_000)]
    table = write_pairs(tmp_path / "long.tsv", pairs)
    command = [sys.executable, "-m", "translator", "evaluate", "--run", str(run.path), "--test-set", str(table)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if b"translating long" in line:
                break
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read().decode()
    assert process.returncode == 130
    assert "stopped by signal 2" in rest
    assert "Traceback" not in rest
    assert list(run.evaluation_folder.iterdir()) == []


def test_scores_of_unlike_metrics_and_texts_make_one_table() -> None:
    def score(metric: Any, value: float, text: str, bounds: tuple[float, float] | None) -> Score:
        return Score(test_set="t", metric=metric, score=value, signature="s", normalization=text, sentences=2,
                     interval=bounds)  # fmt: skip

    lines = score_table(
        [
            score("bleu", 12.345, "raw", (11, 13)),
            score("length_ratio", 0.9876, "raw", None),
            score("bleu", 20, "other", None),
        ]
    )
    assert lines[0].split() == ["test", "set", "metric", "search", "checkpoint", "raw", "other"]
    assert "12.35 (11.00–13.00)" in lines[2] or "12.34 (11.00–13.00)" in lines[2]
    assert lines[2].endswith("20.00")
    assert lines[3].split() == ["t", "length_ratio", "0.988"]
    assert lines[-2:] == ["bleu: s", "length_ratio: s"]
    assert score_table([]) == []
