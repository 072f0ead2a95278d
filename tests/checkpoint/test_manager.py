"""The checkpoints of a run: retention, links, falling back, averaging, copies for background writing."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from checkpoint.small_checkpoints import HARMS, SMALL, damage, named, save, small_model
from hypothesis import given, settings
from hypothesis import strategies as st
from untrained import untrained_run

from translator.checkpoint.files import load_checkpoint, load_model
from translator.checkpoint.manager import (
    average_checkpoints,
    average_run,
    mark_best,
    newest_whole,
    remove_old_checkpoints,
    repair,
    snapshot,
)
from translator.checkpoint.state import CheckpointState, find_checkpoint, pin_checkpoint, step_folder, steps_saved
from translator.errors import CheckpointError, InputError, RunError
from translator.run.locks import hold_folder


@pytest.mark.parametrize("harm", HARMS)
def test_last_intact_checkpoint_is_never_deleted(tmp_path: Path, harm: str) -> None:
    for step in (1, 2, 3, 4, 5):
        save(tmp_path, step)
    for step in (3, 4, 5):
        damage(tmp_path, step, harm)
    remove_old_checkpoints(tmp_path, keep=2)
    assert 2 in steps_saved(tmp_path)
    assert load_checkpoint(step_folder(tmp_path, 2)).state.step == 2


@settings(max_examples=30, deadline=None)
@given(
    scores=st.lists(st.none() | st.integers(0, 4).map(float), min_size=1, max_size=8),
    newest=st.integers(1, 3),
    best=st.integers(1, 3),
    lower_is_better=st.booleans(),
    linked=st.integers(0, 7),
    damaged=st.sets(st.integers(1, 8)),
)
def test_retention_keeps_newest_best_scored_and_linked_checkpoints(
    tmp_path_factory: pytest.TempPathFactory,
    scores: list[float | None],
    newest: int,
    best: int,
    lower_is_better: bool,
    linked: int,
    damaged: set[int],
) -> None:
    """Compare with a plain restatement of the rule; the reading of states is patched, so that many cases run fast."""
    folder = tmp_path_factory.mktemp("checkpoints")
    steps = list(range(1, len(scores) + 1))
    for step in steps:
        step_folder(folder, step).mkdir()
    named_best = linked % len(scores) + 1
    mark_best(folder, named_best)
    whole = [step for step in steps if step not in damaged]
    states = {
        step: CheckpointState(step=step, model=SMALL, source_vocabulary=1, target_vocabulary=1, subword={}, score=score)
        for step, score in zip(steps, scores, strict=True)
        if step in whole
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("translator.checkpoint.manager.intact_states", lambda _: states)
        patch.setattr("translator.checkpoint.manager.verify_checkpoint", lambda _: None)
        remove_old_checkpoints(folder, newest, best, lower_is_better=lower_is_better)
    scored = [(score, step) for step, score in zip(steps, scores, strict=True) if step in whole and score is not None]
    scored.sort(key=lambda pair: (pair[0] if lower_is_better else -pair[0], pair[1]))
    expected = {*whole[-newest:], *(step for _, step in scored[:best]), named_best}
    unreported = {step for step in steps if step > max(whole, default=0)}
    assert set(steps_saved(folder)) == expected | unreported
    assert named(folder, "best") == f"step-{named_best:06d}"


FILES = ("model.safetensors", "optimizer.safetensors", "state.json")


def restore(folder: Path, *, lower_is_better: bool = False) -> int:
    found = newest_whole(folder)
    assert found is not None
    repair(folder, found[1].state.step, lower_is_better=lower_is_better)
    return found[1].state.step


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("harm", HARMS)
def test_last_intact_checkpoint_is_used(tmp_path: Path, name: str, harm: str, caplog: pytest.LogCaptureFixture) -> None:
    for step in (1, 2, 3):
        save(tmp_path, step, score=float(step))
    damage(tmp_path, 3, harm, name)
    was = sorted((file.name, file.read_bytes()) for file in (tmp_path / "step-000003").iterdir())
    assert restore(tmp_path) == 2
    assert steps_saved(tmp_path) == [1, 2]
    assert named(tmp_path, "last") == named(tmp_path, "best") == "step-000002"
    aside = tmp_path / ".damaged-step-000003"
    assert sorted((file.name, file.read_bytes()) for file in aside.iterdir()) == was, "nothing is lost"
    (warning,) = caplog.messages
    assert f"step-000003/{name}" in warning
    assert str(aside) in warning
    assert "training continues from step-000002" in warning


@pytest.mark.parametrize(("lower_is_better", "next_best"), [(False, 3), (True, 4)])
def test_damaged_best_is_replaced_by_the_next_best(tmp_path: Path, lower_is_better: bool, next_best: int) -> None:
    sign = -1 if lower_is_better else 1
    for step, score in ((1, 9.0), (2, 8.0), (3, 7.0), (4, 2.0)):
        save(tmp_path, step, score=score * sign)
    if lower_is_better:
        save(tmp_path, 4, score=-7.5)
    damage(tmp_path, 1)
    damage(tmp_path, 2, "remove")
    assert restore(tmp_path, lower_is_better=lower_is_better) == 4
    assert named(tmp_path, "best") == f"step-{next_best:06d}"
    assert steps_saved(tmp_path) == [3, 4]


def test_set_aside_checkpoints_are_kept_and_named_in_errors(tmp_path: Path) -> None:
    assert newest_whole(tmp_path) is None
    save(tmp_path, 1)
    for _ in range(2):
        save(tmp_path, 2)
        damage(tmp_path, 2)
        restore(tmp_path)
    aside = sorted(path.name for path in tmp_path.glob(".damaged-*"))
    assert aside == [".damaged-step-000002", ".damaged-step-000002-2"]
    shutil.rmtree(tmp_path / "step-000001")
    with pytest.raises(CheckpointError, match=r"\.damaged-step-000002 was set aside earlier"):
        newest_whole(tmp_path)


def test_if_all_checkpoints_are_damaged_each_is_named_and_kept(tmp_path: Path) -> None:
    for step in (1, 2):
        save(tmp_path, step)
    damage(tmp_path, 1, "empty")
    damage(tmp_path, 2, "remove", "state.json")
    with pytest.raises(CheckpointError, match=r"every checkpoint in .* is damaged") as caught:
        newest_whole(tmp_path)
    message = str(caught.value)
    assert "step-000001/model.safetensors" in message
    assert "step-000002/state.json" in message
    assert f"from a copy; or delete {tmp_path} to train from the start" in message
    assert steps_saved(tmp_path) == [1, 2]


CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("which", "lower_is_better", "steps"),
    [("last", False, [2, 3, 4]), ("best", False, [1, 2, 4]), ("best", True, [1, 3, 4])],
)
def test_averaging_saves_the_mean_weights(tmp_path: Path, which: Any, lower_is_better: bool, steps: list[int]) -> None:
    saved = {step: save(tmp_path, step, score=score) for step, score in ((1, 8.0), (2, 9.0), (3, 1.0), (4, 5.0))}
    path = average_checkpoints(tmp_path, 3, which, lower_is_better=lower_is_better)
    assert path == find_checkpoint(tmp_path, "averaged")
    checkpoint = pin_checkpoint(tmp_path, "averaged")
    averaged, state = load_model(checkpoint, CPU), checkpoint.state
    assert (state.averaged_steps, state.name, state.step) == (steps, "averaged", 4)
    for key, tensor in averaged.state_dict().items():
        values = [saved[step].state_dict()[key].numpy().astype(np.float64) for step in steps]
        assert np.array_equal(tensor.numpy(), (sum(values[1:], values[0]) / 3).astype(np.float32)), key
    assert sorted(file.name for file in path.iterdir()) == ["model.safetensors", "state.json"]
    assert steps_saved(tmp_path) == [1, 2, 3, 4]
    found = newest_whole(tmp_path)
    assert found is not None
    assert found[0].name == "step-000004", "training continues from its own checkpoints"


def test_averaging_uses_moving_averages_where_they_exist(tmp_path: Path) -> None:
    for step in (1, 2):
        save(tmp_path, step, average=small_model(seed=10 + step).state_dict())
    averaged = load_checkpoint(average_checkpoints(tmp_path, 2, "last")).model
    first, second = (small_model(seed=seed).state_dict() for seed in (11, 12))
    for key, tensor in averaged.items():
        assert torch.allclose(tensor, (first[key] + second[key]) / 2, atol=1e-7), key


def test_averaging_too_few_checkpoints_is_rejected_with_their_steps(tmp_path: Path) -> None:
    for step, score in ((1, None), (2, 4.0), (3, None)):
        save(tmp_path, step, score=score)
    with pytest.raises(CheckpointError, match=r"cannot average 5 checkpoints in .*: there are 3 \(steps 1, 2, 3\)"):
        average_checkpoints(tmp_path, 5, "last")
    with pytest.raises(CheckpointError, match=r"2 checkpoints with a score in .*: there are 1 \(steps 2\).*keep_best"):
        average_checkpoints(tmp_path, 2, "best")
    with pytest.raises(CheckpointError, match=r"there are none; .*\(--of last\)"):
        average_checkpoints(tmp_path / "nowhere", 2, "best")
    with pytest.raises(InputError, match="cannot average 0 checkpoints; give 1 or more"):
        average_checkpoints(tmp_path, 0, "last")
    assert not (tmp_path / "averaged").exists()


def test_averaging_different_models_is_rejected(tmp_path: Path) -> None:
    save(tmp_path, 1, tied="none")
    save(tmp_path, 2)
    with pytest.raises(CheckpointError, match=r"cannot average .*step-000001 with .*step-000002: their models differ"):
        average_checkpoints(tmp_path, 2, "last")


def test_a_run_that_is_in_training_is_not_averaged(tiny: Any) -> None:
    run = untrained_run(tiny())
    with hold_folder(run.path), pytest.raises(RunError, match="another process uses"):
        average_run(run.path, 1, "last")
    assert not (run.checkpoints_folder / "averaged").exists()
    assert average_run(run.path, 1, "last") == (
        f"{run.checkpoints_folder / 'averaged'}: the mean of the weights of steps 5; use it with --checkpoint averaged"
    )


def test_snapshot_is_unaffected_by_later_updates() -> None:
    weight = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3).T)
    held = snapshot({"weight": weight, "count": torch.tensor(3)})
    with torch.no_grad():
        weight.add_(1)
    assert torch.equal(held["weight"], torch.arange(6.0).reshape(2, 3).T)
    assert held["count"].item() == 3
    assert not held["weight"].requires_grad
