"""A damaged checkpoint is recognised, told, set aside, and the one before it is used."""

import logging
import shutil
from pathlib import Path

import pytest
from checkpoint.small_checkpoints import HARMS, damage, named, save

from translator.checkpoint import newest_whole, repair, steps_saved
from translator.errors import CheckpointError

FILES = ("model.safetensors", "optimizer.safetensors", "state.json")


def restore(folder: Path, *, lower_is_better: bool = False) -> int:
    found = newest_whole(folder)
    assert found is not None
    repair(folder, found[1].state.step, lower_is_better=lower_is_better)
    return found[1].state.step


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("harm", HARMS)
def test_the_one_before_is_used(tmp_path: Path, name: str, harm: str, caplog: pytest.LogCaptureFixture) -> None:
    for step in (1, 2, 3):
        save(tmp_path, step, score=float(step))
    damage(tmp_path, 3, harm, name)
    was = sorted((file.name, file.read_bytes()) for file in (tmp_path / "step-000003").iterdir())
    with caplog.at_level(logging.WARNING):
        assert restore(tmp_path) == 2
    assert steps_saved(tmp_path) == [1, 2]
    assert named(tmp_path, "last") == named(tmp_path, "best") == "step-000002"
    aside = tmp_path / ".damaged-step-000003"
    assert sorted((file.name, file.read_bytes()) for file in aside.iterdir()) == was, "nothing is lost"
    (warning,) = caplog.messages
    assert f"step-000003/{name}" in warning
    assert str(aside) in warning
    assert "training goes on from step-000002" in warning


def test_a_whole_folder_is_left_as_it_is(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for step, score in ((1, 5.0), (2, 3.0)):
        save(tmp_path, step, score=score)
    with caplog.at_level(logging.WARNING):
        assert restore(tmp_path) == 2
    assert not caplog.messages
    assert steps_saved(tmp_path) == [1, 2]
    assert (named(tmp_path, "best"), named(tmp_path, "last")) == ("step-000001", "step-000002")


@pytest.mark.parametrize(("lower_is_better", "next_best"), [(False, 3), (True, 4)])
def test_a_damaged_best_makes_way_for_the_next(tmp_path: Path, lower_is_better: bool, next_best: int) -> None:
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


def test_a_best_without_a_score_that_is_damaged_falls_back_to_the_last(tmp_path: Path) -> None:
    save(tmp_path, 1)
    save(tmp_path, 2)
    (tmp_path / "best").symlink_to("step-000001")
    damage(tmp_path, 1)
    assert restore(tmp_path) == 2
    assert not (tmp_path / "best").is_symlink()


def test_what_was_set_aside_before_is_not_overwritten(tmp_path: Path) -> None:
    save(tmp_path, 1)
    for _ in range(2):
        save(tmp_path, 2)
        damage(tmp_path, 2)
        restore(tmp_path)
    assert sorted(path.name for path in tmp_path.glob(".damaged-*")) == [
        ".damaged-step-000002",
        ".damaged-step-000002-2",
    ]


def test_if_all_are_damaged_nothing_is_changed_and_all_are_told(tmp_path: Path) -> None:
    for step in (1, 2):
        save(tmp_path, step)
    damage(tmp_path, 1, "empty")
    damage(tmp_path, 2, "remove", "state.json")
    with pytest.raises(CheckpointError, match=r"every checkpoint in .* is damaged") as caught:
        newest_whole(tmp_path)
    message = str(caught.value)
    assert "step-000001/model.safetensors" in message
    assert "step-000002/state.json" in message
    assert f"from a copy; or, to train again from the beginning, delete {tmp_path}" in message
    assert steps_saved(tmp_path) == [1, 2]


def test_what_was_set_aside_is_not_forgotten_when_the_others_are_gone(tmp_path: Path) -> None:
    assert newest_whole(tmp_path) is None
    for step in (1, 2):
        save(tmp_path, step)
    damage(tmp_path, 2)
    restore(tmp_path)
    shutil.rmtree(tmp_path / "step-000001")
    with pytest.raises(CheckpointError, match=r"\.damaged-step-000002 was set aside earlier"):
        newest_whole(tmp_path)
