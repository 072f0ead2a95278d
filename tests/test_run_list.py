"""The list of runs: what is said of each, and that no damage to one keeps the others from being listed."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tiny_runs import run
from untrained import untrained_run

from translator.checkpoint import find_checkpoint, load_checkpoint
from translator.errors import InputError
from translator.lock import LOCK_FILE, hold_folder
from translator.run_folder import RunFolder
from translator.run_list import format_run_list


def rows(folder: Path) -> dict[str, dict[str, str]]:
    """Return the cells of each run under their headings, by the run's name, in the order of the table."""
    header, rule, *lines = format_run_list(folder).splitlines()
    names = ["run", "state", "steps", "epochs", "minutes", "best", "tokens/s", "BLEU", "chrF", "size", "last change"]
    assert header.split() == " ".join(names).split()
    assert set(rule) == {"-"}
    found = {}
    for line in lines:
        name, state = line.split("  ")[0], line[header.index("state") : header.index("steps") - 2].rstrip()
        rest = line[len(name) :].strip()[len(state) :].split("  ")
        cells = [name, state, *(cell.strip() for cell in rest if cell.strip())]
        found[name] = dict(zip(names, cells, strict=True))
    return found


@pytest.fixture
def stopped(tiny: Any, tmp_path: Path) -> RunFolder:
    """A run with one checkpoint, at step 5 of 12."""
    return untrained_run(tiny(f"run.directory={tmp_path}/runs/stopped"))


def edit_state(run_folder: RunFolder, **changes: Any) -> None:
    file = run_folder.checkpoints_folder / "step-000005" / "state.json"
    content = json.loads(file.read_text())
    content["state"] |= changes
    file.write_text(json.dumps(content))


def test_a_finished_run_tells_all(tiny: Any, tmp_path: Path) -> None:
    outcome = run(tiny(f"run.directory={tmp_path}/runs/deep/toy"))
    row = rows(tmp_path / "runs")["deep/toy"]
    assert row["state"] == "finished: training.max_steps=12 is reached"
    assert row["steps"] == "12"
    assert row["best"] == f"chrf {outcome.progress.best_score:.2f} at {outcome.progress.best_step}"
    assert row["BLEU"] == f"{outcome.scores[0].score:.2f}"
    saved = load_checkpoint(find_checkpoint(outcome.run.checkpoints_folder, "last")).state.progress
    assert row["tokens/s"] == f"{saved['target_tokens'] / saved['seconds']:,.0f}"
    assert rows(outcome.run.path)["toy"] == row | {"run": "toy"}, "a run folder itself may be asked about"


def test_the_state_of_each(stopped: RunFolder, tiny: Any, tmp_path: Path) -> None:
    RunFolder(tmp_path / "runs" / "prepared").write(tiny())
    begun = RunFolder(tmp_path / "runs" / "begun")
    begun.write(tiny())
    begun.note_sitting({})
    (tmp_path / "runs" / "notes").mkdir()
    (tmp_path / "runs" / "notes" / "config.yaml").write_text("of: something else")
    table = rows(tmp_path / "runs")
    assert {name: row["state"] for name, row in table.items()} == {
        "stopped": "stopped",
        "prepared": "only prepared",
        "begun": "stopped before a checkpoint",
    }
    assert table["prepared"]["steps"] == "-"
    with hold_folder(stopped.path) as owner:
        assert rows(tmp_path / "runs")["stopped"]["state"] == f"running ({owner.pid} on {owner.host})"
        record = (stopped.path / LOCK_FILE).read_text()
    (stopped.path / LOCK_FILE).write_text(record)
    assert rows(tmp_path / "runs")["stopped"]["state"] == f"killed ({owner.pid} on {owner.host})"


def test_numbers_come_from_the_last_checkpoint(stopped: RunFolder, tmp_path: Path) -> None:
    progress = {"step": 5, "target_tokens": 90_000, "seconds": 60.0, "best_score": 31.456, "best_step": 4}
    edit_state(stopped, progress=progress, position={"epoch": 3, "batch": 1})
    row = rows(tmp_path / "runs")["stopped"]
    assert (row["epochs"], row["minutes"], row["tokens/s"]) == ("3", "1.0", "1,500")
    assert row["best"] == "chrf 31.46 at 4"


def test_the_newest_stands_first(stopped: RunFolder, tiny: Any, tmp_path: Path) -> None:
    other = untrained_run(tiny(f"run.directory={tmp_path}/runs/other"))
    for newest, oldest in ((stopped, other), (other, stopped)):
        for folder, time in ((newest, 2_000_000_000), (oldest, 1_900_000_000)):
            for file in folder.path.rglob("*"):
                os.utime(file, (time, time), follow_symlinks=False)
        assert list(rows(tmp_path / "runs")) == [newest.path.name, oldest.path.name]


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"state": 3}', "\ud800"])
def test_a_damaged_state_is_said_in_its_row(stopped: RunFolder, tmp_path: Path, content: str) -> None:
    file = stopped.checkpoints_folder / "step-000005" / "state.json"
    file.write_bytes(content.encode("utf-8", "surrogatepass"))
    assert rows(tmp_path / "runs")["stopped"]["state"] == "damaged: step-000005/state.json"


@pytest.mark.parametrize("progress", [3, {"steps": 3}, {"seconds": "long"}, {"best_score": []}, {"seconds": None}])
def test_damaged_progress_is_said_too(stopped: RunFolder, tmp_path: Path, progress: Any) -> None:
    edit_state(stopped, progress=progress)
    assert rows(tmp_path / "runs")["stopped"]["state"] == "damaged: progress of the last checkpoint"


@pytest.mark.parametrize("content", ["{", "3", "[3]", '[{"test_set": "a"}]', '[{"test_set": "a", "score": "x"}]'])
def test_damaged_scores_are_said_too(stopped: RunFolder, tmp_path: Path, content: str) -> None:
    stopped.evaluation_folder.mkdir()
    (stopped.evaluation_folder / "scores.json").write_text(content)
    row = rows(tmp_path / "runs")["stopped"]
    assert (row["state"], row["steps"], row["BLEU"]) == ("damaged: evaluation/scores.json", "5", "-")


def test_a_damaged_configuration_is_said_too(stopped: RunFolder, tmp_path: Path) -> None:
    stopped.config_file.write_text("nothing: of ours")
    assert rows(tmp_path / "runs")["stopped"]["state"] == "damaged: config.yaml"
    stopped.config_file.unlink()
    assert rows(tmp_path / "runs")["stopped"]["state"] == "damaged: config.yaml"


def test_the_first_test_set_s_newest_scores_on_raw_text(stopped: RunFolder, tmp_path: Path) -> None:
    entries = [
        {"test_set": "toy", "metric": "bleu", "score": 12.345, "normalization": "raw"},
        {"test_set": "toy", "metric": "chrf", "score": 40.0, "normalization": "raw"},
        {"test_set": "toy", "metric": "chrf", "score": 50.0, "normalization": "normalizer v2"},
        {"test_set": "other", "metric": "chrf", "score": 60.0, "normalization": "raw"},
        {"test_set": "toy", "metric": "bleu", "score": 1.0, "normalization": "raw"},
    ]
    stopped.evaluation_folder.mkdir()
    (stopped.evaluation_folder / "scores.json").write_text(json.dumps(entries))
    row = rows(tmp_path / "runs")["stopped"]
    assert (row["BLEU"], row["chrF"]) == ("12.35", "40.00")


def test_no_runs_and_no_folder(tmp_path: Path) -> None:
    assert (
        format_run_list(tmp_path)
        == f"no runs in {tmp_path}; train one first: make train, or translator train --config sample"
    )
    with pytest.raises(InputError, match=r"no folder .*nowhere; name the one that holds the runs"):
        format_run_list(tmp_path / "nowhere")
