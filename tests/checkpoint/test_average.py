"""Averaged checkpoints: the mean of weights, checked against NumPy, and refusals that say why."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from checkpoint.small_checkpoints import damage, save, small_model
from untrained import untrained_run

from translator.checkpoint import (
    average_checkpoints,
    average_run,
    find_checkpoint,
    load_checkpoint,
    load_model,
    newest_whole,
    save_checkpoint,
    steps_saved,
)
from translator.errors import CheckpointError, InputError, RunError
from translator.lock import hold_folder

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("which", "lower_is_better", "steps"), [("last", False, [2, 3, 4]), ("best", False, [1, 2, 4])]
)
def test_the_mean_of_weights(tmp_path: Path, which: Any, lower_is_better: bool, steps: list[int]) -> None:
    saved = {step: save(tmp_path, step, score=score) for step, score in ((1, 9.0), (2, 8.0), (3, 1.0), (4, 5.0))}
    path = average_checkpoints(tmp_path, 3, which)
    assert path == find_checkpoint(tmp_path, "averaged")
    averaged, state = load_model(tmp_path, "averaged", CPU)
    assert (state.averaged_steps, state.name, state.step) == (steps, "averaged", 4)
    for key, tensor in averaged.state_dict().items():
        values = [saved[step].state_dict()[key].numpy().astype(np.float64) for step in steps]
        assert np.array_equal(tensor.numpy(), (sum(values[1:], values[0]) / 3).astype(np.float32)), key
    assert sorted(file.name for file in path.iterdir()) == ["model.safetensors", "state.json"]
    assert steps_saved(tmp_path) == [1, 2, 3, 4]
    found = newest_whole(tmp_path)
    assert found is not None
    assert found[0].name == "step-000004", "training goes on from its own checkpoints"


def test_the_best_by_a_loss_are_the_lowest(tmp_path: Path) -> None:
    for step, score in ((1, 3.0), (2, 1.0), (3, 2.0)):
        save(tmp_path, step, score=score)
    path = average_checkpoints(tmp_path, 2, "best", lower_is_better=True)
    assert load_checkpoint(path).state.averaged_steps == [2, 3]


def test_moving_averages_are_averaged_where_there_are_some(tmp_path: Path) -> None:
    for step in (1, 2):
        save(tmp_path, step, average=small_model(seed=10 + step).state_dict())
    averaged = load_checkpoint(average_checkpoints(tmp_path, 2, "last")).model
    first, second = (small_model(seed=seed).state_dict() for seed in (11, 12))
    for key, tensor in averaged.items():
        assert torch.allclose(tensor, (first[key] + second[key]) / 2, atol=1e-7), key


def test_an_older_average_is_replaced(tmp_path: Path) -> None:
    for step in (1, 2):
        save(tmp_path, step)
    average_checkpoints(tmp_path, 2, "last")
    path = average_checkpoints(tmp_path, 1, "last")
    assert load_checkpoint(path).state.averaged_steps == [2]
    for key, tensor in small_model(seed=2).state_dict().items():
        assert torch.equal(load_checkpoint(path).model[key], tensor)


def test_too_few_are_told_with_their_steps(tmp_path: Path) -> None:
    for step, score in ((1, None), (2, 4.0), (3, None)):
        save(tmp_path, step, score=score)
    with pytest.raises(CheckpointError, match=r"cannot average 5 checkpoints in .*: there are 3 \(steps 1, 2, 3\)"):
        average_checkpoints(tmp_path, 5, "last")
    with pytest.raises(CheckpointError, match=r"2 checkpoints with a score in .*: there are 1 \(steps 2\).*keep_best"):
        average_checkpoints(tmp_path, 2, "best")
    with pytest.raises(CheckpointError, match="there are none"):
        average_checkpoints(tmp_path / "nowhere", 2, "best")
    with pytest.raises(InputError, match="cannot average 0 checkpoints; give 1 or more"):
        average_checkpoints(tmp_path, 0, "last")
    assert not (tmp_path / "averaged").exists()


def test_a_damaged_one_is_not_passed_over(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        save(tmp_path, step)
    damage(tmp_path, 2)
    with pytest.raises(CheckpointError, match=r"damaged checkpoint: .*step-000002"):
        average_checkpoints(tmp_path, 2, "last")


def test_other_shapes_are_refused(tmp_path: Path) -> None:
    save(tmp_path, 1, tied="none")
    save(tmp_path, 2)
    with pytest.raises(CheckpointError, match=r"cannot average .*step-000001 with .*step-000002: .* different models"):
        average_checkpoints(tmp_path, 2, "last")
    state = load_checkpoint(tmp_path / "step-000002").state
    save_checkpoint(tmp_path, replace(state, step=3), {"other": torch.zeros(2)}, {})
    with pytest.raises(CheckpointError, match=r"cannot average .*step-000002 with .*step-000003: .* different models"):
        average_checkpoints(tmp_path, 2, "last")


def test_a_run_is_averaged_by_its_own_metric(tiny: Any) -> None:
    run = untrained_run(tiny("training.best_metric=loss"))
    message = average_run(run.path, 1, "last")
    assert message == (
        f"{run.checkpoints_folder / 'averaged'}: the mean of the weights of steps 5; use it with --checkpoint averaged"
    )
    with pytest.raises(InputError, match="cannot average the `worst` checkpoints; choose `last` or `best`"):
        average_run(run.path, 1, "worst")


def test_a_run_that_is_in_training_is_not_averaged(tiny: Any) -> None:
    run = untrained_run(tiny())
    with hold_folder(run.path), pytest.raises(RunError, match="another process is at work in"):
        average_run(run.path, 1, "last")
    assert not (run.checkpoints_folder / "averaged").exists()
    average_run(run.path, 1, "last")
    assert not (run.path / ".lock").exists()
