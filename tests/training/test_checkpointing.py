"""A checkpoint is restored completely, and what a resumed run may change; a failed save loses nothing."""

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
from translator.errors import RunError


def run_of(folder: Path, steps: int, *overrides: str) -> SmallRun:
    """Return a run after so many steps, each with a checkpoint."""
    run = SmallRun(folder, *overrides)
    for _ in range(steps):
        run.step()
        run.save()
    return run


@pytest.mark.parametrize("value", [-math.inf, math.nan])
def test_weights_that_are_not_finite_are_not_saved(tmp_path: Path, value: float) -> None:
    run = SmallRun(tmp_path)
    with torch.no_grad():
        list(run.model.parameters())[3].view(-1)[-1] = value
    with pytest.raises(RunError, match="no longer finite near step 0"):
        run.save()
    assert not run.folder.exists()


def test_a_checkpoint_has_a_score_only_if_its_own_weights_were_validated(tmp_path: Path) -> None:
    run = SmallRun(tmp_path)
    scores = []
    for chrf in (6.0, None):
        run.step(chrf)
        run.save()
        scores.append(load_checkpoint(step_folder(run.folder, run.step_number)).state.score)
    assert scores == [6.0, None]


def test_the_best_checkpoint_by_loss_has_the_lowest(tmp_path: Path) -> None:
    run = SmallRun(tmp_path, "training.best_metric=loss")
    for loss in (3.0, 1.0, 2.0):
        run.step()
        run.state.progress.note_validation({"loss": loss}, "loss")
        run.save()
    best = run.folder / "best"
    assert best.resolve() == step_folder(run.folder, 2)
    assert load_checkpoint(best).state.score == -1.0


def test_nonwriting_ranks_restore_checkpoints_and_write_nothing(tmp_path: Path) -> None:
    run = run_of(tmp_path, 2)
    damage(run.folder, 2)
    reader = SmallRun(tmp_path, writes=False)
    reader.restore()
    assert reader.step_number == 1
    reader.step()
    reader.save()
    assert steps_saved(run.folder) == [1, 2]
    assert not list(run.folder.glob(".damaged*"))


def test_the_moving_average_can_be_switched_on_or_off_on_resume(tmp_path: Path) -> None:
    run = run_of(tmp_path, 3, NO_AVERAGE)

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
    plain_run.restore()
    assert_same_bits(plain_run.model.state_dict(), averaged_run.model.state_dict())
    plain_run.step()
    plain_run.save()
    assert not load_checkpoint(step_folder(run.folder, 5)).average


def test_checkpoint_files_are_flushed_before_the_folder_is_renamed(tmp_path: Path) -> None:
    run = run_of(tmp_path, 3)
    run.step(chrf=6.0)
    with Faults(run.folder) as faults:
        run.save()
    (partial,) = {path for name, path in faults.operations if name == "mkdir" and "/.step-" in path}
    last = {operation: number for number, operation in enumerate(faults.operations)}
    for file in ("/model.safetensors", "/optimizer.safetensors", "/state.json", ""):
        flushed_at = last["fsync", partial + file]
        assert last.get(("write", partial + file), -1) < flushed_at < last["rename", partial], file
