"""Checkpoints come back whole or are refused with a reason."""

import hashlib
import json
from pathlib import Path

import pytest
import torch
from checkpoint.small_checkpoints import HARMS, SMALL, damage, save, small_model, small_state
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from translator.checkpoint import (
    DamagedCheckpointError,
    find_checkpoint,
    load_checkpoint,
    load_model,
    mark_best,
    read_state,
    restore_weights,
    save_checkpoint,
    steps_saved,
    verify_checkpoint,
)
from translator.corpus import NORMALIZER_VERSION
from translator.errors import CheckpointError, StorageError
from translator.model import Transformer

CPU = torch.device("cpu")


@pytest.mark.parametrize("tied", ["none", "target", "all"])
def test_what_is_saved_comes_back(tmp_path: Path, tied: str) -> None:
    saved = save(tmp_path, 7, tied=tied)
    loaded = load_checkpoint(find_checkpoint(tmp_path, "last"))
    assert loaded.state.step == 7
    assert loaded.state.progress == {"step": 7}
    assert torch.equal(loaded.training["optimizer.0.exp_avg"], torch.arange(5.0))
    again, state = load_model(tmp_path, "7", CPU)
    assert not again.training
    assert state == loaded.state
    for key, value in saved.state_dict().items():
        assert torch.equal(again.state_dict()[key], value)


def test_a_damaged_best_is_not_passed_over(tmp_path: Path) -> None:
    for step in (1, 2):
        save(tmp_path, step)
    mark_best(tmp_path, 1)
    (tmp_path / "step-000001" / "state.json").unlink()
    with pytest.raises(CheckpointError, match=r"damaged checkpoint.*step-000001"):
        load_model(tmp_path, "best", CPU)


@pytest.mark.parametrize("content", ["[]", "3", '{"state": 1, "sha256": {}}', '{"sha256": {}, "state": {"step": 1}}'])
def test_a_state_file_of_another_kind(tmp_path: Path, content: str) -> None:
    save(tmp_path, 1)
    (tmp_path / "step-000001" / "state.json").write_text(content)
    with pytest.raises(CheckpointError, match="damaged checkpoint"):
        load_checkpoint(tmp_path / "step-000001")


def test_another_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("translator.checkpoint.files.FORMAT", 99)
        save(tmp_path, 1)
    with pytest.raises(CheckpointError, match=r"checkpoint format 99, this version of translator reads 1"):
        load_checkpoint(tmp_path / "step-000001")


def test_another_normalizer_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path, 1)
    monkeypatch.setattr("translator.checkpoint.state.NORMALIZER_VERSION", 99)
    told = f"normalizer version {NORMALIZER_VERSION}, this version of translator has 99"
    with pytest.raises(CheckpointError, match=told):
        load_model(tmp_path, "last", CPU)


def test_weights_of_another_shape_are_listed(tmp_path: Path) -> None:
    saved = save(tmp_path, 1)
    wider = Transformer(SMALL.model_copy(update={"feed_forward": 20}), 11, 11)
    with pytest.raises(
        CheckpointError, match=r"do not fit the model: .*feed_forward.* is \(16, 8\), expected \(20, 8\)"
    ):
        restore_weights(wider, saved.state_dict(), tmp_path)
    fewer = dict(list(saved.state_dict().items())[1:]) | {"stranger": torch.zeros(1)}
    with pytest.raises(CheckpointError, match=r"is missing.*stranger is not a weight of this model"):
        restore_weights(small_model(), fewer, tmp_path)


def test_a_full_disk_keeps_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path, 1)

    def full(*_: object) -> None:
        from safetensors import SafetensorError

        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr("translator.checkpoint.files.save_file", full)
    with pytest.raises(StorageError, match=r"step-000002: the disk is full; free some space"):
        save(tmp_path, 2)
    assert steps_saved(tmp_path) == [1]
    assert find_checkpoint(tmp_path, "last").name == "step-000001"
    assert load_checkpoint(tmp_path / "step-000001").state.step == 1


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors", "ema.safetensors", "state.json"])
@pytest.mark.parametrize("harm", HARMS)
def test_damage_of_any_file_is_recognised(tmp_path: Path, name: str, harm: str) -> None:
    save(tmp_path, 1, average=small_model(seed=9).state_dict())
    path = tmp_path / "step-000001"
    verify_checkpoint(path)
    damage(tmp_path, 1, harm, name)
    for read in (load_checkpoint, verify_checkpoint):
        with pytest.raises(CheckpointError, match=f"{name}") as caught:
            read(path)
        assert "damaged checkpoint" in str(caught.value)
        assert "delete" in str(caught.value)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_changed_byte_is_recognised(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "step-000001"
    if not path.exists():
        save(tmp_path, 1)
    name = data.draw(st.sampled_from(["model.safetensors", "optimizer.safetensors", "state.json"]))
    content = (path / name).read_bytes()
    place = data.draw(st.integers(0, len(content) - 1))
    change = data.draw(st.integers(1, 255))
    (path / name).write_bytes(content[:place] + bytes([content[place] ^ change]) + content[place + 1 :])
    try:
        with pytest.raises(DamagedCheckpointError, match=name):
            load_checkpoint(path)
    finally:
        (path / name).write_bytes(content)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.bool])
def test_the_checksum_is_that_of_the_file(tmp_path: Path, dtype: torch.dtype) -> None:
    """It is taken from memory; tensors without dimensions, empty ones and odd lengths are in the file too."""
    tensors = {
        "scalar": torch.ones((), dtype=dtype),
        "none": torch.zeros((0, 3), dtype=dtype),
        "odd": torch.ones(7, dtype=dtype),
        "turned": torch.arange(6).reshape(2, 3).to(dtype).T,
        "a": torch.ones((2, 2)),
    }
    path = save_checkpoint(tmp_path, small_state(1), tensors, {})
    written = json.loads((path / "state.json").read_text())["sha256"]["model.safetensors"]
    assert written == hashlib.sha256((path / "model.safetensors").read_bytes()).hexdigest()
    assert torch.equal(load_checkpoint(path).model["turned"], tensors["turned"])


def test_a_checkpoint_of_the_first_version_is_read(tmp_path: Path) -> None:
    save(tmp_path, 3)
    file = tmp_path / "step-000003" / "state.json"
    content = json.loads(file.read_text())
    del content["own_sha256"], content["bytes"]
    for later in ("score", "average", "averaged_steps"):
        del content["state"][later]
    content["state"]["progress"] = {"best_step": 3, "best_score": 41.5}
    content["own_sha256"] = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    file.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n")
    assert load_checkpoint(tmp_path / "step-000003").state.score == 41.5
    assert read_state(tmp_path / "step-000003").average == {}


def test_translation_takes_the_moving_average_and_training_the_raw_weights(tmp_path: Path) -> None:
    average = small_model(seed=9).state_dict()
    raw = save(tmp_path, 1, average=average).state_dict()
    for key, tensor in load_model(tmp_path, "last", CPU)[0].state_dict().items():
        assert torch.equal(tensor, average[key])
    loaded = load_checkpoint(tmp_path / "step-000001")
    for key, tensor in raw.items():
        assert torch.equal(loaded.model[key], tensor)
        assert torch.equal(loaded.average[key], average[key])


def test_a_damaged_best_names_the_others(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        save(tmp_path, step)
    mark_best(tmp_path, 2)
    damage(tmp_path, 2)
    with pytest.raises(CheckpointError, match=r"step-000002.*checksum differs.*steps saved besides: 1, 3 \("):
        load_model(tmp_path, "best", CPU)
