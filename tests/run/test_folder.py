"""The run folder: recorded changes and environment, folders that are not runs, and the fingerprint of prepared data."""

from pathlib import Path
from typing import Any

import pytest

from translator.config import Config
from translator.errors import ConfigError, RunError
from translator.run.folder import RunFolder


def begun(config: Config) -> RunFolder:
    run = RunFolder(Path(config.run.directory))
    run.write(config)
    (run.checkpoints_folder / "step-000004").mkdir(parents=True)
    return run


def test_allowed_changes_are_recorded_and_become_the_run_configuration(tiny: Any) -> None:
    run = begun(tiny())
    changed_config = tiny("training.learning_rate=0.5", "batching.tokens_per_batch=300")
    changes = run.check(changed_config, allow_changed=True)
    run.write(changed_config)
    run.note_session({"written": "now"}, changes)
    changed_keys = {
        "batching.tokens_per_batch": {"old": 200, "new": 300},
        "training.learning_rate": {"old": 0.0007, "new": 0.5},
    }
    assert run.sessions() == [{"written": "now", "changed": changed_keys}]
    assert run.check(changed_config) == ()


def test_a_mistake_in_an_override_is_not_blamed_on_the_file(tiny: Any) -> None:
    run = begun(tiny())
    with pytest.raises(
        ConfigError,
        match=r"^the changed configuration of \S*run with --set has 1 mistake:\n  --set search\.beam_size=0: ",
    ):
        run.config(["search.beam_size=0"])
    run.config_file.write_text("search: {beam_size: 0}", encoding="utf-8")
    with pytest.raises(RunError, match=r"the configuration in the run folder is damaged, .*config\.yaml has "):
        run.config(["search.beam_size=1"])


def test_equal_subword_models_stay_as_they_are_beside_a_file_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "prepared").mkdir()
    model = tmp_path / "prepared" / "joint.model"
    model.write_bytes(b"old")
    run = RunFolder(tmp_path / "run")
    run.keep_subword(model.parent, "{}")
    notes = run.subword_folder / "notes.txt"
    notes.write_text("mine", encoding="utf-8")
    run.keep_subword(model.parent, "{}")
    assert notes.read_text(encoding="utf-8") == "mine"
    model.write_bytes(b"new")
    run.keep_subword(model.parent, "{}")
    assert (run.subword_folder / model.name).read_bytes() == b"new"


def test_open_says_what_is_there_in_place_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("hello", encoding="utf-8")
    with pytest.raises(RunError, match=r"text\.txt is a single file; give a run folder"):
        RunFolder.open(tmp_path / "text.txt")
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "config.yaml").write_text("", encoding="utf-8")
    (tmp_path / "odd" / "config.yaml").mkdir(parents=True)
    with pytest.raises(RunError, match=r"no run at .*odd \(it has no config.yaml\); runs there: \S*good$"):
        RunFolder.open(tmp_path / "odd")
