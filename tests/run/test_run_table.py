"""The list of runs: what each row says; a damaged run does not stop the others from being listed."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.untrained import untrained_run
from translator.checkpoint.files import load_checkpoint
from translator.checkpoint.state import find_checkpoint
from translator.errors import InputError, RunError
from translator.run.folder import RunFolder
from translator.run.locks import hold_folder
from translator.run.run_table import format_run_list


def rows(folder: Path) -> dict[str, str]:
    """Return, by run name and in table order, each row of the list from its state column on."""
    header, _, *lines = format_run_list(folder).splitlines()
    state_column = header.index("state")
    rows_by_name = {}
    for line in lines:
        name, _, _ = line.partition("  ")
        rows_by_name[name] = line[state_column:]
    return rows_by_name


@pytest.fixture
def stopped(tiny: Any, tmp_path: Path) -> RunFolder:
    return untrained_run(tiny(f"run.directory={tmp_path}/runs/stopped"))


def test_row_of_a_finished_run_shows_state_scores_and_speed(trained: Path) -> None:
    row = rows(trained.parent)["run"]
    scores = json.loads((trained / "evaluation" / "scores.json").read_text(encoding="utf-8"))
    saved = load_checkpoint(find_checkpoint(trained / "checkpoints", "last")).state.progress
    for cell in (
        "finished: training.max_steps=12 is reached",
        f"chrf {saved['best_score']:.2f} at {saved['best_step']}",
        f"{scores[0]['score']:.2f}",
        f"{saved['target_tokens'] / saved['seconds']:,.0f}",
    ):
        assert f"{cell}  " in row
    assert rows(trained) == {"run": row}, "the folder may also be a single run"


def date_files(folder: Path, seconds: int) -> None:
    """Set the time of the last change of every file in a folder."""
    for file in folder.rglob("*"):
        os.utime(file, (seconds, seconds), follow_symlinks=False)


def test_runs_are_listed_newest_first_with_their_states(stopped: RunFolder, tiny: Any, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    RunFolder(runs / "prepared").write(tiny())
    begun = RunFolder(runs / "deep" / "begun")
    begun.write(tiny())
    begun.note_session({})
    no_run = runs / "notes"
    no_run.mkdir()
    (no_run / "config.yaml").write_text("of: something else")
    date_files(stopped.path, seconds=1_900_000_000)
    date_files(begun.path, seconds=2_000_000_000)

    states = {}
    for name, row in rows(runs).items():
        states[name], _, _ = row.partition("  ")
    assert states == {"deep/begun": "stopped before a checkpoint", "stopped": "stopped", "prepared": "only prepared"}
    assert list(states)[:2] == ["deep/begun", "stopped"]
    with hold_folder(stopped.path):
        assert rows(runs)["stopped"].startswith("running")


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("checkpoints/step-000005/state.json", "{"),
        ("checkpoints/step-000005/state.json", '{"state": 3}'),
        ("checkpoints/step-000005/state.json", "[" * 100_000),
        ("checkpoints/step-000005/state.json", '{"state": {"step": 5, "progress": {"seconds": 1e400}}}'),
        ("checkpoints/step-000005/state.json", '{"state": {"step": 5, "progress": {"best_score": [1]}}}'),
        ("evaluation/scores.json", '[{"test_set": "a", "score": "x"}]'),
        ("config.yaml", "a: &a [1, 2]\nb: &b [" + "*a, " * 999 + "]\nc: [" + "*b, " * 999 + "]"),
        ("config.yaml", "nothing: of ours"),
    ],
)
def test_damage_is_reported_in_the_row_of_its_run(stopped: RunFolder, tmp_path: Path, file: str, content: str) -> None:
    damaged = stopped.path / file
    damaged.parent.mkdir(exist_ok=True)
    damaged.write_text(content)
    assert rows(tmp_path / "runs")["stopped"].startswith(f"damaged: {damaged.parent.name}/{damaged.name}")


def test_a_run_of_a_newer_version_has_a_row_of_its_own_kind(stopped: RunFolder, tmp_path: Path) -> None:
    text = stopped.config_file.read_text(encoding="utf-8")
    stopped.config_file.write_text(text.replace("\nmodel:\n", "\nmodel:\n  experts: 8\n"), encoding="utf-8")
    assert rows(tmp_path / "runs")["stopped"].startswith("of another version of translator  ")
    with pytest.raises(RunError, match=r"made by a newer version of translator, or changed by hand(?s:.*)experts"):
        stopped.config()


def test_unreadable_provenance_and_an_impossible_date_do_not_stop_the_list(stopped: RunFolder, tmp_path: Path) -> None:
    stopped.info_file.write_text("[" * 100_000)
    os.utime(stopped.info_file, (1e12, 1e12))
    assert rows(tmp_path / "runs")["stopped"].startswith("stopped  ")


def test_empty_folder_gives_a_hint_and_missing_folder_is_an_error(tmp_path: Path) -> None:
    assert format_run_list(tmp_path).startswith(f"no runs in {tmp_path}; train one first: make train, or translator")
    with pytest.raises(InputError, match=r"no folder .*nowhere; give the folder of the runs"):
        format_run_list(tmp_path / "nowhere")
