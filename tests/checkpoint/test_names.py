"""What the names of checkpoints stand for."""

import shutil
from pathlib import Path

import pytest
from checkpoint.small_checkpoints import save

from translator.checkpoint import find_checkpoint, mark_best
from translator.errors import CheckpointError


def test_names_of_checkpoints(tmp_path: Path) -> None:
    for step in (3, 12):
        save(tmp_path, step)
    assert find_checkpoint(tmp_path, "best").name == "step-000012", "without a best, the last"
    mark_best(tmp_path, 3)
    assert find_checkpoint(tmp_path, "best").name == "step-000003"
    assert find_checkpoint(tmp_path, "last").name == "step-000012"
    assert find_checkpoint(tmp_path, "3").name == find_checkpoint(tmp_path, "step-000003").name == "step-000003"
    with pytest.raises(CheckpointError, match=r"no checkpoint `5` in .*; steps saved: 3, 12"):
        find_checkpoint(tmp_path, "5")


def test_a_name_is_not_a_path(tmp_path: Path) -> None:
    save(tmp_path / "inside", 3)
    save(tmp_path / "outside", 3)
    for name in ("²", "9" * 300, "../outside/step-000003", str(tmp_path / "outside" / "step-000003"), "", "."):
        with pytest.raises(CheckpointError, match="no checkpoint"):
            find_checkpoint(tmp_path / "inside", name)


def test_when_the_last_is_deleted_by_hand_the_one_before_is_last(tmp_path: Path) -> None:
    save(tmp_path, 1)
    save(tmp_path, 2)
    shutil.rmtree(tmp_path / "step-000002")
    assert find_checkpoint(tmp_path, "last").name == "step-000001"


def test_a_best_that_is_gone_is_not_replaced_by_another(tmp_path: Path) -> None:
    save(tmp_path, 1)
    save(tmp_path, 2)
    mark_best(tmp_path, 1)
    shutil.rmtree(tmp_path / "step-000001")
    with pytest.raises(CheckpointError, match=r"best names step-000001, which is not there; steps saved: 2 \("):
        find_checkpoint(tmp_path, "best")


def test_without_an_average_the_name_says_how_to_make_one(tmp_path: Path) -> None:
    save(tmp_path, 1)
    with pytest.raises(CheckpointError, match=r"no checkpoint `averaged` in .*; make it with `translator average`"):
        find_checkpoint(tmp_path, "averaged")


def test_a_link_out_of_the_run_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"
    save(folder, 1)
    (folder / "last").unlink()
    (folder / "last").symlink_to(tmp_path)
    with pytest.raises(CheckpointError, match=r"last is a link out of the run, to .*; remove the link"):
        find_checkpoint(folder, "last")
