"""The run folder: changes that a session records, and settings that are damaged."""

from pathlib import Path
from typing import Any

from translator.config import Config
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


def test_other_subword_models_replace_those_of_an_earlier_start(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    model = tmp_path / "prepared" / "joint.model"
    model.parent.mkdir()
    for content in (b"old", b"new"):
        model.write_bytes(content)
        run.keep_subword(model.parent, "{}")
        assert (run.subword_folder / model.name).read_bytes() == content
