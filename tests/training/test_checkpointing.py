"""A checkpoint is restored completely and training resumes bit for bit; a failed save loses nothing."""

import math
from pathlib import Path

import pytest
import torch

from tests.support.faults import Faults
from tests.support.small_checkpoints import damage
from tests.support.small_state import NO_AVERAGE, SmallRun
from tests.support.tiny_runs import assert_same_bits
from translator.checkpoint.files import load_checkpoint
from translator.checkpoint.state import step_folder, steps_saved
from translator.data import DataPosition
from translator.errors import RunError


def run_of(folder: Path, *scores: float | None, overrides: tuple[str, ...] = ()) -> SmallRun:
    run = SmallRun(folder, *overrides)
    for score in scores:
        run.step(score)
        run.save()
    return run


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
