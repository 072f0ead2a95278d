"""Recovery: the newest intact checkpoint is used, and damaged ones are set aside."""

import shutil
from pathlib import Path

import pytest

from tests.support.small_checkpoints import HARMS, damage, named, save
from translator.checkpoint.recovery import newest_whole, repair
from translator.checkpoint.retention import mark_best
from translator.checkpoint.state import find_checkpoint, steps_saved
from translator.errors import CheckpointError

FILES = ("model.safetensors", "optimizer.safetensors", "state.json")


def restore(folder: Path, *, lower_is_better: bool = False) -> int:
    """Set damaged checkpoints aside, as a resumed run does; return the step of the newest intact one."""
    newest = newest_whole(folder)
    assert newest is not None
    step = newest.content.state.step
    repair(folder, step, lower_is_better=lower_is_better)
    return step


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("harm", HARMS)
def test_last_intact_checkpoint_is_used(tmp_path: Path, name: str, harm: str, caplog: pytest.LogCaptureFixture) -> None:
    for step in (1, 2, 3):
        save(tmp_path, step, score=float(step))
    damage(tmp_path, 3, harm, name)
    damaged_contents = contents(tmp_path / "step-000003")

    assert restore(tmp_path) == 2
    assert steps_saved(tmp_path) == [1, 2]
    assert named(tmp_path, "last") == "step-000002"
    assert named(tmp_path, "best") == "step-000002"

    # The damaged checkpoint is renamed as it is, and a warning tells where it is.
    aside = tmp_path / ".damaged-step-000003"
    assert contents(aside) == damaged_contents, "nothing is lost"
    (warning,) = caplog.messages
    assert f"step-000003/{name}" in warning
    assert str(aside) in warning
    assert "training continues from step-000002" in warning


@pytest.mark.parametrize(("lower_is_better", "next_best"), [(False, 3), (True, 4)])
def test_damaged_best_is_replaced_by_the_next_best(tmp_path: Path, lower_is_better: bool, next_best: int) -> None:
    # From the best to the worst: 1, 2, 3, 4; where a lower score is better: 1, 2, 4, 3.
    scores = {1: -9.0, 2: -8.0, 3: -7.0, 4: -7.5} if lower_is_better else {1: 9.0, 2: 8.0, 3: 7.0, 4: 2.0}
    for step, score in scores.items():
        save(tmp_path, step, score=score)
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


def test_best_falls_back_to_last_if_no_checkpoint_has_a_score(tmp_path: Path) -> None:
    for step in (1, 2):
        save(tmp_path, step)
    mark_best(tmp_path, 2)
    damage(tmp_path, 2)
    assert restore(tmp_path) == 1
    assert not (tmp_path / "best").is_symlink()
    assert find_checkpoint(tmp_path, "best").resolve().name == "step-000001"
