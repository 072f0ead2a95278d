"""What a keeper saves comes back whole, and training goes on in the same bits."""

import logging
import math
from pathlib import Path

import pytest
import torch
from checkpoint.small_checkpoints import damage, named
from tiny_runs import assert_same_bits
from training.small_keeper import SmallRun

from translator.checkpoint import load_checkpoint, read_state, step_folder, steps_saved
from translator.data import DataPosition
from translator.errors import RunError, StorageError

SAMPLED = "subword={model_type: unigram, sampling: 0.1}"


@pytest.mark.parametrize("background", [False, True])
def test_restored_equals_uninterrupted_with_a_moving_average(tmp_path: Path, background: bool) -> None:
    run = SmallRun(tmp_path, background=background)
    assert not run.restore()
    for _ in range(3):
        run.step()
    run.save()
    for _ in range(4):  # while the checkpoint is being written
        run.step()
    run.keeper.close()
    again = SmallRun(tmp_path)
    assert again.restore()
    assert (again.progress.step, again.position.batch) == (3, 3)
    for _ in range(4):
        again.step()
    assert_same_bits(again.tensors(), run.tensors())
    assert again.progress == run.progress


def test_the_newest_and_the_best_stay(tmp_path: Path) -> None:
    run = SmallRun(tmp_path, "training.keep_best=2")
    for score in (5.0, 9.0, 7.0, None, 1.0, math.nan, 2.0):
        run.step(score)
        run.save()
    assert steps_saved(run.folder) == [2, 3, 6, 7]
    assert (named(run.folder, "best"), named(run.folder, "last")) == ("step-000002", "step-000007")
    assert read_state(step_folder(run.folder, 3)).score == 7.0
    assert read_state(step_folder(run.folder, 6)).score is None


def test_the_background_writes_in_order(tmp_path: Path) -> None:
    run = SmallRun(tmp_path, background=True)
    for score in (5.0, 9.0, 7.0, 8.0):
        run.step(score)
        run.save()
    run.keeper.close()
    assert steps_saved(run.folder) == [2, 3, 4]
    assert (named(run.folder, "best"), named(run.folder, "last")) == ("step-000002", "step-000004")


@pytest.mark.parametrize("ending", ["save", "wait", "close"])
def test_a_failed_write_in_the_background_is_told_once(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = SmallRun(tmp_path, background=True)
    run.step()
    run.save()
    run.keeper.wait()
    run.step()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("translator.checkpoint.files.save_file", full)
        run.save()
        with pytest.raises(StorageError, match="step-000002: the disk is full"):
            {"save": run.save, "wait": run.keeper.wait, "close": run.keeper.close}[ending]()
    run.keeper.close()
    assert steps_saved(run.folder) == [1]


def test_too_little_room_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = SmallRun(tmp_path, background=True)
    run.step()
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"total": 9, "free": 1}))
    with pytest.raises(StorageError, match="the disk is too full"):
        run.save()
    assert list(run.folder.iterdir()) == []


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_weights_that_are_not_finite_are_not_saved(tmp_path: Path, value: float) -> None:
    run = SmallRun(tmp_path)
    with torch.no_grad():
        list(run.model.parameters())[3].view(-1)[-1] = value
    with pytest.raises(RunError, match="no longer finite near step 0"):
        run.save()
    assert not run.folder.exists()


def test_another_process_of_the_run_reads_and_never_writes(tmp_path: Path) -> None:
    run = SmallRun(tmp_path)
    for _ in range(2):
        run.step()
        run.save()
    damage(run.folder, 2)
    reader = SmallRun(tmp_path, writes=False, background=True)
    assert reader.restore()
    assert reader.progress.step == 1
    reader.step()
    reader.save()
    reader.keeper.close()
    assert steps_saved(run.folder) == [1, 2]
    assert not list(run.folder.glob(".damaged*"))


def test_going_on_from_the_one_before_is_exact(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = SmallRun(tmp_path)
    for score in (1.0, 2.0, 3.0):
        run.step(score)
        run.save()
    damage(run.folder, 3)
    again = SmallRun(tmp_path)
    with caplog.at_level(logging.INFO):
        assert again.restore()
    assert "training goes on from step-000002" in caplog.text
    assert f"resuming from {step_folder(run.folder, 2)}" in caplog.text
    assert (again.progress.best_step, named(run.folder, "best")) == (2, "step-000002")
    again.step(3.0)
    assert_same_bits(again.tensors(), run.tensors())


def test_a_swap_that_a_signal_broke_off_is_not_saved(tmp_path: Path) -> None:
    run = SmallRun(tmp_path)
    run.step()
    raw = run.tensors()
    assert run.average is not None
    block = run.average.swapped_in()
    block.__enter__()
    run.save()
    again = SmallRun(tmp_path)
    again.restore()
    assert_same_bits(again.tensors(), raw)


def test_a_moving_average_that_is_switched_on_begins_with_the_raw_weights(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = SmallRun(tmp_path, ema=False)
    for _ in range(3):
        run.step()
    run.save()
    raw = run.tensors()
    run.step()
    again = SmallRun(tmp_path)
    with caplog.at_level(logging.INFO):
        assert again.restore()
    assert "the moving average begins with the weights of step-000003, which has none" in caplog.text
    assert again.average is not None
    assert again.average.state == {"updates": 0}
    assert_same_bits(again.average.weights(), {name: raw[name] for name in again.average.weights()})
    again.step()
    assert_same_bits(dict(again.model.state_dict()), dict(run.model.state_dict()))
    again.save()
    caplog.clear()
    assert SmallRun(tmp_path).restore()
    assert "the moving average begins" not in caplog.text


def test_a_moving_average_that_is_switched_off_is_ignored(tmp_path: Path) -> None:
    run = SmallRun(tmp_path)
    run.step()
    run.save()
    run.step()
    again = SmallRun(tmp_path, ema=False)
    assert again.restore()
    again.step()
    assert_same_bits(dict(again.model.state_dict()), dict(run.model.state_dict()))
    again.save()
    assert not load_checkpoint(step_folder(again.folder, 2)).average


@pytest.mark.parametrize(
    ("changed", "batch"),
    [("training.learning_rate=0.5", 3), ("batching.tokens_per_batch=99", 0), ("run.seed=2", 0), (SAMPLED, 0)],
)
def test_a_place_in_the_data_means_nothing_among_other_batches(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, changed: str, batch: int
) -> None:
    run = SmallRun(tmp_path)
    for _ in range(3):
        run.step()
    run.position = DataPosition(2, 3)
    run.save()
    again = SmallRun(tmp_path, changed)
    with caplog.at_level(logging.INFO):
        assert again.restore()
    assert again.position == DataPosition(2, batch)
    assert caplog.text.count("the present epoch begins again") == (batch == 0)
    again.step()
    again.position = DataPosition(2, 1)
    again.save()
    third = SmallRun(tmp_path, changed)
    third.restore()
    assert third.position == DataPosition(2, 1), "the new place is one among the new batches"


def test_a_checkpoint_from_before_batches_had_a_fingerprint_keeps_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = SmallRun(tmp_path)
    run.step()
    with monkeypatch.context() as patch:
        patch.setattr(run.keeper, "_batch_order", "")
        run.save()
    again = SmallRun(tmp_path, "run.seed=2")
    again.restore()
    assert again.position == DataPosition(0, 1)


def test_other_text_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = SmallRun(tmp_path)
    run.step()
    run.save()
    again = SmallRun(tmp_path)
    monkeypatch.setattr(again.data, "fingerprint", "others")
    monkeypatch.setattr(again.data, "token_fingerprint", "others")
    with pytest.raises(RunError, match="the corpus or its preparation has changed"):
        again.restore()
