"""Averaging: the mean weights of checkpoints, of one model, in a run that is not in training."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.small_checkpoints import save, small_model
from tests.support.untrained import untrained_run
from translator.checkpoint.averaging import average_checkpoints, average_run
from translator.checkpoint.files import load_checkpoint, load_model
from translator.checkpoint.retention import newest_whole
from translator.checkpoint.state import find_checkpoint, pin_checkpoint, steps_saved
from translator.errors import CheckpointError, InputError, RunError
from translator.run.files import hold_folder

CPU = torch.device("cpu")


SCORES = {1: 8.0, 2: 9.0, 3: 1.0, 4: 5.0}


@pytest.mark.parametrize(
    ("which", "lower_is_better", "steps"),
    [("last", False, [2, 3, 4]), ("best", False, [1, 2, 4]), ("best", True, [1, 3, 4])],
)
def test_averaging_saves_the_mean_weights(tmp_path: Path, which: Any, lower_is_better: bool, steps: list[int]) -> None:
    weights = {}
    for step, score in SCORES.items():
        model = save(tmp_path, step, score=score)
        weights[step] = model.state_dict()

    average_checkpoints(tmp_path, 3, which, lower_is_better=lower_is_better)
    checkpoint = pin_checkpoint(tmp_path, "averaged")
    assert checkpoint.state.averaged_steps == steps

    # The sum is computed in float64, and only the mean is rounded.
    averaged_model = load_model(checkpoint, CPU)
    for name, averaged in averaged_model.state_dict().items():
        total = np.zeros(averaged.shape)
        for step in steps:
            total += weights[step][name].numpy()
        mean = (total / 3).astype(np.float32)
        assert np.array_equal(averaged.numpy(), mean), name


def test_an_average_is_a_checkpoint_of_weights_alone(tmp_path: Path) -> None:
    for step in SCORES:
        save(tmp_path, step)
    path = average_checkpoints(tmp_path, 3, "last")
    assert path == find_checkpoint(tmp_path, "averaged")
    assert sorted(file.name for file in path.iterdir()) == ["model.safetensors", "state.json"]


def test_an_average_has_the_step_of_its_newest_checkpoint(tmp_path: Path) -> None:
    for step in SCORES:
        save(tmp_path, step)
    average_checkpoints(tmp_path, 3, "last")
    state = pin_checkpoint(tmp_path, "averaged").state
    assert state.name == "averaged"
    assert state.step == 4
    assert steps_saved(tmp_path) == [1, 2, 3, 4], "an average is not one of them"


def test_training_never_continues_from_an_average(tmp_path: Path) -> None:
    for step in (1, 2):
        save(tmp_path, step)
    average_checkpoints(tmp_path, 2, "last")
    newest = newest_whole(tmp_path)
    assert newest is not None
    assert newest.state.name == "step-000002"


def test_averaging_uses_moving_averages_where_they_exist(tmp_path: Path) -> None:
    first = small_model(seed=11).state_dict()
    second = small_model(seed=12).state_dict()
    save(tmp_path, 1, average=first)
    save(tmp_path, 2, average=second)
    path = average_checkpoints(tmp_path, 2, "last")
    for name, averaged in load_checkpoint(path).model.items():
        mean = (first[name] + second[name]) / 2
        assert torch.allclose(averaged, mean, atol=1e-7), name


@pytest.mark.parametrize(
    ("count", "which", "message"),
    [
        (5, "last", r"cannot average 5 checkpoints in .*: there are 3 \(steps 1, 2, 3\)"),
        (2, "best", r"2 checkpoints with a score in .*: there are 1 \(steps 2\).*keep_best"),
    ],
)
def test_averaging_too_few_checkpoints_is_rejected_with_their_steps(
    tmp_path: Path, count: int, which: str, message: str
) -> None:
    save(tmp_path, 1)
    save(tmp_path, 2, score=4.0)
    save(tmp_path, 3)
    with pytest.raises(CheckpointError, match=message):
        average_checkpoints(tmp_path, count, which)
    assert not (tmp_path / "averaged").exists()


def test_averaging_the_best_of_none_advises_the_newest(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"there are none; .*\(--of last\)"):
        average_checkpoints(tmp_path / "nowhere", 2, "best")


def test_averaging_no_checkpoint_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot average 0 checkpoints; give 1 or more"):
        average_checkpoints(tmp_path, 0, "last")


def test_averaging_different_models_is_rejected(tmp_path: Path) -> None:
    save(tmp_path, 1, tied="none")
    save(tmp_path, 2)
    with pytest.raises(CheckpointError, match=r"cannot average .*step-000001 with .*step-000002: their models differ"):
        average_checkpoints(tmp_path, 2, "last")


def test_a_run_that_is_in_training_is_not_averaged(tiny: Any) -> None:
    run = untrained_run(tiny())
    averaged = run.checkpoints_folder / "averaged"
    with hold_folder(run.path), pytest.raises(RunError, match="another process uses"):
        average_run(run.path, 1, "last")
    assert not averaged.exists()

    # When the training is over, the same call works.
    message = average_run(run.path, 1, "last")
    assert message == f"{averaged}: the mean of the weights of steps 5; use it with --checkpoint averaged"
