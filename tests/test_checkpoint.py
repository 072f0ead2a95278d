"""Checkpoints come back whole or are refused with a reason."""

from pathlib import Path

import pytest
import torch

from translator.checkpoint import (
    CheckpointState,
    find_checkpoint,
    load_checkpoint,
    load_model,
    mark_best,
    remove_old_checkpoints,
    restore_weights,
    save_checkpoint,
    steps_saved,
)
from translator.config import ModelConfig
from translator.corpus import NORMALIZER_VERSION
from translator.errors import CheckpointError, StorageError
from translator.model import Transformer

SMALL = ModelConfig(d_model=8, heads=2, encoder_layers=1, decoder_layers=1, feed_forward=16, max_positions=32)
CPU = torch.device("cpu")


def model(tied: str = "target") -> Transformer:
    return Transformer(SMALL.model_copy(update={"tied_embeddings": tied}), 11, 11)


def save(folder: Path, step: int, tied: str = "target") -> Transformer:
    torch.manual_seed(step)
    saved = model(tied)
    config = SMALL.model_copy(update={"tied_embeddings": tied}).model_dump(mode="json")
    state = CheckpointState(
        step=step, model=config, source_vocabulary=11, target_vocabulary=11, subword={}, progress={"step": step}
    )
    save_checkpoint(folder, state, saved.state_dict(), {"optimizer.0.exp_avg": torch.arange(5.0)})
    return saved


@pytest.mark.parametrize("tied", ["none", "target", "all"])
def test_what_is_saved_comes_back(tmp_path: Path, tied: str) -> None:
    saved = save(tmp_path, 7, tied)
    loaded = load_checkpoint(find_checkpoint(tmp_path, "last"))
    assert loaded.state.step == 7
    assert loaded.state.progress == {"step": 7}
    assert torch.equal(loaded.training["optimizer.0.exp_avg"], torch.arange(5.0))
    again, state = load_model(tmp_path, "7", CPU)
    assert not again.training
    assert state == loaded.state
    for key, value in saved.state_dict().items():
        assert torch.equal(again.state_dict()[key], value)


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


def test_a_damaged_best_is_not_passed_over(tmp_path: Path) -> None:
    for step in (1, 2):
        save(tmp_path, step)
    mark_best(tmp_path, 1)
    (tmp_path / "step-000001" / "state.json").unlink()
    with pytest.raises(CheckpointError, match=r"damaged checkpoint.*step-000001"):
        load_model(tmp_path, "best", CPU)


def test_old_checkpoints_go_and_the_best_stays(tmp_path: Path) -> None:
    for step in (1, 2, 3, 4, 5):
        save(tmp_path, step)
    mark_best(tmp_path, 2)
    remove_old_checkpoints(tmp_path, keep=2)
    assert steps_saved(tmp_path) == [2, 4, 5]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_when_the_last_is_deleted_by_hand_the_one_before_is_last(tmp_path: Path) -> None:
    import shutil

    save(tmp_path, 1)
    save(tmp_path, 2)
    shutil.rmtree(tmp_path / "step-000002")
    assert find_checkpoint(tmp_path, "last").name == "step-000001"


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors", "state.json"])
@pytest.mark.parametrize("harm", ["truncate", "flip", "remove", "empty"])
def test_damage_of_any_file_is_recognised(tmp_path: Path, name: str, harm: str) -> None:
    save(tmp_path, 1)
    file = tmp_path / "step-000001" / name
    content = file.read_bytes()
    if harm == "remove":
        file.unlink()
    elif harm == "flip":
        middle = 2 if name == "state.json" else len(content) // 2
        file.write_bytes(content[:middle] + bytes([content[middle] ^ 0x40]) + content[middle + 1 :])
    else:
        file.write_bytes(b"" if harm == "empty" else content[: len(content) // 2])
    with pytest.raises(CheckpointError, match=f"{name}") as caught:
        load_checkpoint(tmp_path / "step-000001")
    assert "damaged checkpoint" in str(caught.value)
    assert "delete" in str(caught.value)


@pytest.mark.parametrize("content", ["[]", "3", '{"state": 1, "sha256": {}}', '{"sha256": {}, "state": {"step": 1}}'])
def test_a_state_file_of_another_kind(tmp_path: Path, content: str) -> None:
    save(tmp_path, 1)
    (tmp_path / "step-000001" / "state.json").write_text(content)
    with pytest.raises(CheckpointError, match="damaged checkpoint"):
        load_checkpoint(tmp_path / "step-000001")


def test_another_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("translator.checkpoint.FORMAT", 99)
        save(tmp_path, 1)
    with pytest.raises(CheckpointError, match=r"checkpoint format 99, this version of translator reads 1"):
        load_checkpoint(tmp_path / "step-000001")


def test_another_normalizer_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path, 1)
    monkeypatch.setattr("translator.checkpoint.NORMALIZER_VERSION", 99)
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
        restore_weights(model(), fewer, tmp_path)


def test_a_full_disk_keeps_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path, 1)

    def full(*_: object) -> None:
        from safetensors import SafetensorError

        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr("translator.checkpoint.save_file", full)
    with pytest.raises(StorageError, match=r"step-000002: the disk is full; free some space"):
        save(tmp_path, 2)
    assert steps_saved(tmp_path) == [1]
    assert find_checkpoint(tmp_path, "last").name == "step-000001"
    assert load_checkpoint(tmp_path / "step-000001").state.step == 1
