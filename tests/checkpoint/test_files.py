"""Checkpoints load completely or are rejected with a reason; finding them by name."""

import shutil
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.small_checkpoints import SMALL, save, small_model
from translator.checkpoint.files import load_checkpoint, load_model, restore_weights
from translator.checkpoint.retention import mark_best
from translator.checkpoint.state import DamagedCheckpointError, find_checkpoint, pin_checkpoint
from translator.core.transformer import Transformer
from translator.errors import CheckpointError

CPU = torch.device("cpu")


@pytest.mark.parametrize("tied", ["none", "target", "all"])
def test_saved_checkpoint_loads_with_the_same_weights_and_state(tmp_path: Path, tied: str) -> None:
    saved = save(tmp_path, 7, tied=tied)

    # To continue a training.
    loaded = load_checkpoint(find_checkpoint(tmp_path, "last"))
    assert loaded.state.step == 7
    assert loaded.state.progress == {"step": 7}
    assert torch.equal(loaded.training["optimizer.0.exp_avg"], torch.arange(5.0))

    # To translate.
    checkpoint = pin_checkpoint(tmp_path, "7")
    assert checkpoint.state == loaded.state
    model = load_model(checkpoint, CPU)
    assert not model.training
    assert_equal_weights(model.state_dict(), saved.state_dict())


def test_weights_of_another_shape_are_rejected_and_listed(tmp_path: Path) -> None:
    saved = save(tmp_path, 1)
    wider = Transformer(SMALL.model_copy(update={"feed_forward": 20}).settings, 11, 11)
    with pytest.raises(CheckpointError, match=r"do not fit the model: .*feed_forward.* shape torch.Size\(\[16, 8\]\)"):
        restore_weights(wider, saved.state_dict(), tmp_path)


def test_missing_and_unexpected_weights_are_rejected_and_listed(tmp_path: Path) -> None:
    weights = small_model().state_dict()
    weights.pop(next(iter(weights)))
    weights["stranger"] = torch.zeros(1)
    with pytest.raises(CheckpointError, match=r"do not fit the model: .*Missing key.*Unexpected key.*stranger"):
        restore_weights(small_model(), weights, tmp_path)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_changed_byte_is_recognised(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "step-000001"
    if not path.exists():
        save(tmp_path, 1)
    name = data.draw(st.sampled_from(["model.safetensors", "optimizer.safetensors", "state.json"]))
    file = path / name
    content = file.read_bytes()
    place = data.draw(st.integers(0, len(content) - 1))
    changed_bits = data.draw(st.integers(1, 255))
    damaged_content = bytearray(content)
    damaged_content[place] ^= changed_bits
    file.write_bytes(damaged_content)
    try:
        with pytest.raises(DamagedCheckpointError, match=name):
            load_checkpoint(path)
    finally:
        file.write_bytes(content)


def assert_equal_weights(weights: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    assert weights.keys() == expected.keys()
    for name, tensor in expected.items():
        assert torch.equal(weights[name], tensor), name


def test_translation_uses_the_moving_average(tmp_path: Path) -> None:
    average = small_model(seed=9).state_dict()
    save(tmp_path, 1, average=average)
    model = load_model(pin_checkpoint(tmp_path, "last"), CPU)
    assert_equal_weights(model.state_dict(), average)


def test_training_continues_from_the_raw_weights(tmp_path: Path) -> None:
    average = small_model(seed=9).state_dict()
    raw = save(tmp_path, 1, average=average).state_dict()
    loaded = load_checkpoint(tmp_path / "step-000001")
    assert_equal_weights(loaded.model, raw)
    assert_equal_weights(loaded.average, average)


def test_checkpoints_are_found_by_best_last_step_and_name(tmp_path: Path) -> None:
    for step in (3, 12):
        save(tmp_path, step)
    assert find_checkpoint(tmp_path, "best").name == "step-000012", "without a best, the last"
    mark_best(tmp_path, 3)
    assert find_checkpoint(tmp_path, "best").name == "step-000003"
    assert find_checkpoint(tmp_path, "last").name == "step-000012"
    assert find_checkpoint(tmp_path, "3").name == "step-000003"
    assert find_checkpoint(tmp_path, "step-000003").name == "step-000003"
    with pytest.raises(CheckpointError, match=r"no checkpoint `5` in .*; steps saved: 3, 12"):
        find_checkpoint(tmp_path, "5")


def test_paths_are_rejected_as_checkpoint_names(tmp_path: Path) -> None:
    save(tmp_path / "inside", 3)
    save(tmp_path / "outside", 3)
    outside = tmp_path / "outside" / "step-000003"
    for name in ("²", "9" * 300, "../outside/step-000003", str(outside), "", "."):
        with pytest.raises(CheckpointError, match="no checkpoint"):
            find_checkpoint(tmp_path / "inside", name)


def test_missing_best_checkpoint_is_an_error_and_not_substituted(tmp_path: Path) -> None:
    save(tmp_path, 1)
    save(tmp_path, 2)
    mark_best(tmp_path, 1)
    shutil.rmtree(tmp_path / "step-000001")
    with pytest.raises(CheckpointError, match=r"no checkpoint `best` in .*; steps saved: 2$"):
        find_checkpoint(tmp_path, "best")


def test_a_checkpoint_that_a_training_deletes_meanwhile_is_not_called_damaged(tmp_path: Path) -> None:
    save(tmp_path, 1)
    pinned = pin_checkpoint(tmp_path, "last")
    shutil.rmtree(pinned.path)
    with pytest.raises(CheckpointError, match=r"step-000001 was deleted before its weights were read"):
        load_model(pinned, CPU)
