"""A checkpoint is restored completely and training resumes bit for bit; a failed save loses nothing."""

import logging
import math
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest
import torch

from tests.support.faults import Faults, Killed, Kind
from tests.support.small_checkpoints import damage, named
from tests.support.small_state import NO_AVERAGE, SmallRun
from tests.support.tiny_runs import assert_same_bits
from translator.checkpoint.files import load_checkpoint
from translator.checkpoint.state import find_checkpoint, read_state, step_folder, steps_saved
from translator.data import DataPosition
from translator.errors import CheckpointError, RunError, StorageError

SAMPLED = "subword={model_type: unigram, sampling: 0.1}"


def run_of(folder: Path, *scores: float | None, overrides: tuple[str, ...] = ()) -> SmallRun:
    run = SmallRun(folder, *overrides)
    for score in scores:
        run.step(score)
        run.save()
    return run


def test_saving_keeps_the_newest_and_the_best_checkpoints(tmp_path: Path) -> None:
    scores = (5.0, 9.0, 7.0, None, 1.0, math.nan, 2.0)
    run = run_of(tmp_path, *scores, overrides=("training.keep_best=2",))
    assert steps_saved(run.folder) == [2, 3, 6, 7]
    assert named(run.folder, "best") == "step-000002"
    assert named(run.folder, "last") == "step-000007"
    assert read_state(step_folder(run.folder, 3)).score == 7.0
    assert read_state(step_folder(run.folder, 6)).score is None


def test_weights_that_are_not_finite_are_not_saved(tmp_path: Path) -> None:
    run = SmallRun(tmp_path)
    weight = list(run.model.parameters())[3]
    for value in (math.inf, -math.inf, math.nan):
        with torch.no_grad():
            weight.view(-1)[-1] = value
        with pytest.raises(RunError, match="no longer finite near step 0"):
            run.save()
    assert not run.folder.exists()


def test_nonwriting_ranks_restore_checkpoints_and_write_nothing(tmp_path: Path) -> None:
    run = run_of(tmp_path, None, None)
    damage(run.folder, 2)
    reader = SmallRun(tmp_path, writes=False)
    assert reader.restore()
    assert reader.step_number == 1
    reader.step()
    reader.save()
    assert steps_saved(run.folder) == [1, 2]
    assert not list(run.folder.glob(".damaged*"))


def test_the_moving_average_can_be_switched_on_or_off_on_resume(tmp_path: Path) -> None:
    run = run_of(tmp_path, None, None, None, overrides=(NO_AVERAGE,))

    # Switched on, it starts from the weights of the checkpoint.
    averaged_run = SmallRun(tmp_path)
    averaged_run.restore()
    assert averaged_run.state.average is not None
    assert_same_bits(averaged_run.state.average.model.state_dict(), run.model.state_dict())
    averaged_run.step()
    averaged_run.save()
    assert load_checkpoint(step_folder(run.folder, 4)).state.average == {"updates": 1}

    # Switched off, the run continues from the raw weights.
    plain_run = SmallRun(tmp_path, NO_AVERAGE)
    assert plain_run.restore()
    assert_same_bits(plain_run.model.state_dict(), averaged_run.model.state_dict())
    plain_run.step()
    plain_run.save()
    assert not load_checkpoint(step_folder(run.folder, 5)).average


@pytest.mark.parametrize(
    ("override", "row"),
    [
        ("training.learning_rate=0.5", 3),
        ("batching.tokens_per_batch=99", 0),
        (SAMPLED, 0),
    ],
)
def test_the_epoch_restarts_on_resume_if_its_batches_changed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, override: str, row: int
) -> None:
    # A run that was stopped at row 3 of epoch 2.
    run = run_of(tmp_path)
    run.step()
    run.state.position = DataPosition(epoch=2, row=3)
    run.save()

    # It resumes with another setting, and is stopped at row 1.
    second_start = SmallRun(tmp_path, override)
    with caplog.at_level(logging.INFO):
        assert second_start.restore()
    assert second_start.state.position == DataPosition(epoch=2, row=row)
    assert caplog.text.count("the epoch restarts") == (row == 0)
    second_start.step()
    second_start.state.position = DataPosition(epoch=2, row=1)
    second_start.save()

    # It resumes once more, with the same setting.
    third_start = SmallRun(tmp_path, override)
    third_start.restore()
    assert third_start.state.position == DataPosition(epoch=2, row=1), "the new place is one among the new batches"


def test_the_epoch_restarts_on_resume_if_the_plan_has_another_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of(tmp_path)
    run.step()
    run.state.position = DataPosition(epoch=2, row=3)
    run.save()
    monkeypatch.setattr("translator.training.checkpointing.PLAN_VERSION", 0)
    again = SmallRun(tmp_path)
    again.restore()
    assert again.state.position == DataPosition(epoch=2, row=0)


@pytest.mark.parametrize("setting", ["heads=4", "norm=post", "activation=gelu", "max_positions=64"])
def test_resume_refuses_another_model_with_weights_of_the_same_shapes(tmp_path: Path, setting: str) -> None:
    run_of(tmp_path, None)
    key, _, _ = setting.partition("=")
    with pytest.raises(CheckpointError, match=f"are of another model: model.{key} is"):
        SmallRun(tmp_path, f"model.{setting}").restore()


def about_to_save(folder: Path, case: str) -> SmallRun:
    """Return a run with checkpoints of steps 1 to 3, about to save step 4 as the `new` best, or step 3 `again`."""
    run = run_of(folder, 5.0, 4.0, 3.0, overrides=(NO_AVERAGE,))
    if case == "new":
        run.step(6.0)
    else:
        run.state.progress.seconds = 99.0
    return run


def operations(folder: Path, case: str) -> list[tuple[str, str]]:
    """Return what a save does, in order: the name of each operation on files, and the path."""
    run = about_to_save(folder, case)
    with Faults(run.folder) as faults:
        run.save()
    return faults.operations


def last_number(operations_of_save: list[tuple[str, str]], name: str, path: str) -> int:
    """Return when, counted in operations, `name` was done last to `path`; -1 if never."""
    last = -1
    for number, operation in enumerate(operations_of_save):
        if operation == (name, path):
            last = number
    return last


def test_checkpoint_files_are_flushed_before_the_folder_is_renamed(tmp_path: Path) -> None:
    operations_of_save = operations(tmp_path, "new")
    (partial,) = {path for name, path in operations_of_save if name == "mkdir" and "/.step-" in path}
    assert operations_of_save.count(("rename", partial)) == 1
    renamed_at = last_number(operations_of_save, "rename", partial)
    for file in ("/model.safetensors", "/optimizer.safetensors", "/state.json", ""):
        written_at = last_number(operations_of_save, "write", partial + file)
        flushed_at = last_number(operations_of_save, "fsync", partial + file)
        assert written_at < flushed_at < renamed_at, file


@pytest.mark.parametrize(("case", "kind"), [("new", "kill"), ("again", "kill"), ("new", "full")])
def test_a_failure_at_any_file_operation_loses_no_checkpoint(tmp_path: Path, case: str, kind: Kind) -> None:
    run = about_to_save(tmp_path / "run", case)
    folder_before = tmp_path / "before"
    shutil.copytree(run.folder, folder_before, symlinks=True)
    new_progress = asdict(run.state.progress)
    operation_count = len(operations(tmp_path / "counted", case))
    assert operation_count > 20
    outcomes = set()
    for operation in range(1, operation_count + 1):
        # 1. The save fails at this operation.
        shutil.rmtree(run.folder)
        shutil.copytree(folder_before, run.folder, symlinks=True)
        with Faults(run.folder, operation, kind) as faults:
            try:
                run.save()
            except StorageError:
                assert kind != "kill"
            except Killed:
                assert kind == "kill"
        assert faults.struck
        place = (operation, faults.operations[-1])

        # 2. The checkpoints are whole: other programs may read them before training resumes.
        if kind != "kill":
            assert 3 in steps_saved(run.folder), "a failing disk leaves what was there"
        for link in ("last", "best"):
            load_checkpoint(find_checkpoint(run.folder, link))

        # 3. The run resumes from the new checkpoint or from the one before.
        resumed = SmallRun(tmp_path / "run", NO_AVERAGE)
        assert resumed.restore(), place
        step = resumed.step_number
        assert step in ((3, 4) if case == "new" else (3,))
        if asdict(resumed.state.progress) == new_progress:
            assert_same_bits(resumed.tensors(), run.tensors())
        outcomes.add((step, resumed.state.progress.seconds))
        assert not list(run.folder.glob(".damaged*")), place
        assert named(run.folder, "last") == f"step-{step:06d}"
        assert named(run.folder, "best") == ("step-000004" if step == 4 else "step-000001")

        # 4. The next save works, and removes what the failed one left.
        run.save()
        assert load_checkpoint(find_checkpoint(run.folder, "last")).state.progress == new_progress
        assert steps_saved(run.folder) == ([3, 4] if case == "new" else [1, 2, 3])
        assert not list(run.folder.glob(".*")), place
    assert len(outcomes) == 2, "some failures come before the checkpoint is there, and some after"
