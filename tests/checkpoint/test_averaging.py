"""Averaging: the mean weights of checkpoints, of one model, in a run that is not in training."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.small_checkpoints import save
from tests.support.untrained import untrained_run
from translator.checkpoint.averaging import average_checkpoints, average_run
from translator.checkpoint.files import load_model
from translator.checkpoint.retention import newest_whole
from translator.checkpoint.state import pin_checkpoint, steps_saved
from translator.errors import CheckpointError, InputError, RunError
from translator.run.files import hold_folder

SCORES = {1: 8.0, 2: 9.0, 3: 1.0, 4: 5.0}


@pytest.mark.parametrize(
    ("which", "steps"),
    [("last", [2, 3, 4]), ("best", [1, 2, 4])],
)
def test_averaging_saves_the_mean_weights(tmp_path: Path, which: str, steps: list[int]) -> None:
    weights = {step: save(tmp_path, step, score=score).state_dict() for step, score in SCORES.items()}
    path = average_checkpoints(tmp_path, 3, which)
    checkpoint = pin_checkpoint(tmp_path, "averaged")
    assert (checkpoint.path, checkpoint.state.name) == (path, "averaged")
    assert (checkpoint.state.averaged_steps, checkpoint.state.step) == (steps, 4)

    # The sum is computed in float64, and only the mean is rounded.
    averaged_model = load_model(checkpoint, torch.device("cpu"))
    for name, averaged in averaged_model.state_dict().items():
        total = np.sum([weights[step][name].double().numpy() for step in steps], axis=0)
        assert np.array_equal(averaged.numpy(), (total / 3).astype(np.float32)), name

    # It has no moments, and training never continues from it.
    assert sorted(file.name for file in path.iterdir()) == ["model.safetensors", "state.json"]
    assert steps_saved(tmp_path) == [1, 2, 3, 4]
    newest = newest_whole(tmp_path)
    assert newest is not None
    assert newest.state.name == "step-000004"


@pytest.mark.parametrize(
    ("count", "which", "error", "message"),
    [
        (0, "last", InputError, "cannot average 0 checkpoints; give 1 or more"),
        (2, "best", CheckpointError, r"2 checkpoints with a score in .*: there are 1 \(steps 2\).*keep_best"),
        (3, "last", CheckpointError, r"cannot average .*step-000001 with .*step-000003: their models differ"),
    ],
)
def test_what_cannot_be_averaged_is_refused(
    tmp_path: Path, count: int, which: str, error: type[Exception], message: str
) -> None:
    save(tmp_path, 1, tied="none")
    save(tmp_path, 2, score=4.0)
    save(tmp_path, 3)
    with pytest.raises(error, match=message):
        average_checkpoints(tmp_path, count, which)
    assert not (tmp_path / "averaged").exists()
    with pytest.raises(CheckpointError, match=r"there are none; .*\(--of last\)"):
        average_checkpoints(tmp_path / "nowhere", 2, "best")


def test_a_run_that_is_in_training_is_not_averaged(tiny: Any) -> None:
    run = untrained_run(tiny())
    with hold_folder(run.path), pytest.raises(RunError, match="another process uses"):
        average_run(run.path, 1, "last")
    assert not (run.checkpoints_folder / "averaged").exists()
