"""Checkpoints load completely or are rejected with a reason; finding them by name."""

import shutil
from pathlib import Path

import pytest
import torch

from tests.support.small_checkpoints import SMALL, save, small_model
from tests.support.tiny_runs import assert_same_bits
from translator.checkpoint.files import load_checkpoint, load_model, restore_weights
from translator.checkpoint.retention import mark_best
from translator.checkpoint.state import find_checkpoint, pin_checkpoint
from translator.core.transformer import Transformer
from translator.errors import CheckpointError

CPU = torch.device("cpu")


@pytest.mark.parametrize("tied", ["none", "target", "all"])
def test_saved_checkpoint_loads_with_the_same_weights_and_state(tmp_path: Path, tied: str) -> None:
    saved = save(tmp_path, 7, tied=tied)

    # To continue a training.
    loaded = load_checkpoint(find_checkpoint(tmp_path, "last"))
    assert (loaded.state.step, loaded.state.progress) == (7, {"step": 7})
    assert torch.equal(loaded.moments["optimizer.0.exp_avg"], torch.arange(5.0))

    # To translate.
    checkpoint = pin_checkpoint(tmp_path, "7")
    assert checkpoint.state == loaded.state
    model = load_model(checkpoint, CPU)
    assert not model.training
    assert_same_bits(model.state_dict(), saved.state_dict())


def test_translation_uses_the_moving_average_and_training_the_raw_weights(tmp_path: Path) -> None:
    average = small_model(seed=9).state_dict()
    raw = save(tmp_path, 1, average=average).state_dict()
    assert_same_bits(load_model(pin_checkpoint(tmp_path, "last"), CPU).state_dict(), average)
    loaded = load_checkpoint(tmp_path / "step-000001")
    assert_same_bits(loaded.model, raw)
    assert_same_bits(loaded.average, average)


def test_weights_that_do_not_fit_are_rejected_and_listed(tmp_path: Path) -> None:
    weights = small_model().state_dict()
    wider = Transformer(SMALL.model_copy(update={"feed_forward": 20}).settings, 11, 11)
    with pytest.raises(CheckpointError, match=r"do not fit the model: .*feed_forward.* shape torch.Size\(\[16, 8\]\)"):
        restore_weights(wider, weights, tmp_path)


def test_checkpoints_are_found_by_best_last_step_and_name(tmp_path: Path) -> None:
    for step in (3, 12):
        save(tmp_path, step)
    assert find_checkpoint(tmp_path, "best").name == "step-000012", "without a best, the last"
    mark_best(tmp_path, 3)
    for name, step in (("best", 3), ("last", 12), ("3", 3), ("step-000003", 3)):
        assert find_checkpoint(tmp_path, name).name == f"step-{step:06d}"
    # A checkpoint that is not there, and what is never the name of one.
    for name in ("5", "²", "9" * 300, "../step-000003", str(tmp_path / "step-000003"), "", "."):
        with pytest.raises(CheckpointError, match=r"no checkpoint `.*steps saved: 3, 12"):
            find_checkpoint(tmp_path, name)
    # A missing best one is not replaced by the last.
    shutil.rmtree(tmp_path / "step-000003")
    with pytest.raises(CheckpointError, match=r"no checkpoint `best` in .*; steps saved: 12$"):
        find_checkpoint(tmp_path, "best")


def test_a_checkpoint_that_a_training_deletes_meanwhile_is_not_called_damaged(tmp_path: Path) -> None:
    save(tmp_path, 1)
    pinned = pin_checkpoint(tmp_path, "last")
    shutil.rmtree(pinned.path)
    with pytest.raises(CheckpointError, match=r"step-000001 was deleted before its weights were read"):
        load_model(pinned, CPU)
