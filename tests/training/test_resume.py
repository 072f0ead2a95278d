"""A run that is stopped and goes on ends in the same bits as one that was not."""

import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_runs import assert_same_bits, final, run

from translator.checkpoint import find_checkpoint, load_checkpoint, steps_saved
from translator.config import Config, load_config
from translator.data import DataHandler, DataPosition
from translator.errors import CheckpointError, Interrupted, RunError
from translator.run_folder import RunFolder
from translator.signals import StopRequest, stop_on_signals
from translator.training.breakdown import Means
from translator.training.keeper import Keeper
from translator.training.run import TrainingOutcome, train_run
from translator.training.step import take_step
from translator.training.validation import Validator

UNIGRAM = ("subword.model_type=unigram", "subword.vocabulary_size=40", "subword.byte_fallback=false")


def final_average(config: Config) -> dict[str, torch.Tensor]:
    path = find_checkpoint(RunFolder(Path(config.run.directory)).checkpoints_folder, "last")
    return load_checkpoint(path).average


def changed(config: Config) -> TrainingOutcome:
    """Train with changed settings, which is asked for."""
    return train_run(config, StopRequest(), allow_changed=True)


def stop_at_step(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Send SIGTERM to ourselves in the middle of one training step."""

    def step_with_a_signal(*arguments: Any) -> object:
        if arguments[3] == step:
            os.kill(os.getpid(), signal.SIGTERM)
        return take_step(*arguments)

    monkeypatch.setattr("translator.training.engine.take_step", step_with_a_signal)


@pytest.fixture(scope="module")
def of_two_batches_a_step(trained_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, torch.Tensor]:
    """The last weights of an uninterrupted run."""
    overrides = (f"run.directory={tmp_path_factory.mktemp('whole')}", "training.accumulation_steps=2")
    config = load_config(trained_folder / "tiny.yaml", overrides)
    run(config)
    return final(config)


@pytest.mark.parametrize("step", [1, 5, 6, 11])
def test_resumed_equals_uninterrupted(
    tiny: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    step: int,
    of_two_batches_a_step: dict[str, torch.Tensor],
) -> None:
    halved = tiny(f"run.directory={tmp_path}/halved", "training.accumulation_steps=2")
    with monkeypatch.context() as patch:
        stop_at_step(patch, step)
        with pytest.raises(Interrupted), stop_on_signals() as stop:
            train_run(halved, stop)
    folder = RunFolder(Path(halved.run.directory)).checkpoints_folder
    assert steps_saved(folder)[-1] == step, "the stop saved the step it interrupted"
    outcome = run(halved)
    assert outcome.progress.sittings == 2
    assert_same_bits(final(halved), of_two_batches_a_step)


def test_resumed_equals_uninterrupted_with_a_moving_average(
    tiny: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole, halved = (tiny(f"run.directory={tmp_path}/{name}", "training.ema_decay=0.9") for name in ("whole", "halved"))
    run(whole)
    with monkeypatch.context() as patch:
        stop_at_step(patch, 7)
        with pytest.raises(Interrupted), stop_on_signals() as stop:
            train_run(halved, stop)
    run(halved)
    assert_same_bits(final(halved), final(whole))
    average = final_average(whole)
    assert_same_bits(final_average(halved), average)
    assert any(not torch.equal(weight, average[name]) for name, weight in final(whole).items())


@pytest.mark.parametrize(("at_the_border", "ahead"), [(False, True), (True, False)])
def test_resumed_equals_uninterrupted_with_sampled_pieces(
    tiny: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, at_the_border: bool, ahead: bool
) -> None:
    if ahead:
        monkeypatch.setattr("translator.data.epoch_stores._WORTH_A_PROCESS", 0)
    sampled = (
        *UNIGRAM,
        *("subword.sampling=0.3", "batching.tokens_per_batch=300"),
    )
    whole = tiny(f"run.directory={tmp_path}/whole", *sampled)
    assert whole.model.dropout > 0
    run(whole)
    batches = DataHandler(whole).train_batches(DataPosition())
    epoch = next(number for number, (_, position) in enumerate(batches, start=1) if position.epoch == 1)
    batches.close()
    assert 4 <= epoch <= 8, "training should cross the border of an epoch"
    halved = tiny(f"run.directory={tmp_path}/halved", *sampled)
    with monkeypatch.context() as patch:
        stop_at_step(patch, epoch if at_the_border else epoch + 2)
        with pytest.raises(Interrupted), stop_on_signals() as stop:
            train_run(halved, stop)
    folder = RunFolder(Path(halved.run.directory)).checkpoints_folder
    position = load_checkpoint(find_checkpoint(folder, "last")).state.position
    assert position == {"epoch": 1, "batch": 0 if at_the_border else 2}
    assert not list((tmp_path / "prepared").glob(".sampled-*")), "a stop leaves no sampled text behind"
    run(halved)
    assert_same_bits(final(halved), final(whole))


@pytest.mark.parametrize("strength", [0.2, 0.0])
def test_another_strength_of_sampling_is_taken_only_when_asked_for(
    tiny: Any, caplog: pytest.LogCaptureFixture, strength: float
) -> None:
    run(tiny(*UNIGRAM, "subword.sampling=0.3"))
    longer = tiny(*UNIGRAM, f"subword.sampling={strength}", "training.max_steps=14")
    with pytest.raises(RunError, match=rf"subword\.sampling: 0\.3 → {strength}"):
        run(longer)
    assert changed(longer).progress.step == 14
    assert "the present epoch begins again" in caplog.text


def test_a_changed_learning_rate_is_taken_only_when_asked_for(tiny: Any, trained: Path, tmp_path: Path) -> None:
    same = tiny(f"run.directory={tmp_path}/same", "training.max_steps=14")
    shutil.copytree(trained, tmp_path / "same", symlinks=True)
    other = tiny("training.max_steps=14", "training.learning_rate=0.002")
    with pytest.raises(RunError, match=r"only with --allow-changed:\n  training\.learning_rate: 0\.0007 → 0\.002"):
        run(other)
    folder = RunFolder(tmp_path / "run")
    assert folder.config() == tiny()
    outcome = changed(other)
    assert outcome.progress.step == 14
    assert folder.config() == other
    rate = {"old": 0.0007, "new": 0.002}
    assert folder.sittings()[-1]["changed"]["training.learning_rate"] == rate
    assert "training.learning_rate: 0.0007 → 0.002" in folder.log_file.read_text(encoding="utf-8")
    run(same)
    assert any(not torch.equal(weight, final(same)[name]) for name, weight in final(other).items())


def test_a_kill_after_settings_have_changed_does_not_mix_two_orders_of_batches(
    tiny: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The new settings are written down by then, so nothing has changed; but the checkpoint is from before."""
    for name in ("whole", "halved"):
        run(tiny(f"run.directory={tmp_path}/{name}", "training.max_steps=7"))
    whole, halved = (
        tiny(f"run.directory={tmp_path}/{name}", "batching.tokens_per_batch=150") for name in ("whole", "halved")
    )
    changed(whole)
    with monkeypatch.context() as patch:
        patch.setattr("translator.training.engine.take_step", lambda *_: (_ for _ in ()).throw(RuntimeError("killed")))
        with pytest.raises(RuntimeError, match="killed"):
            changed(halved)
    caplog.clear()
    run(halved)
    assert "the present epoch begins again" in caplog.text
    assert_same_bits(final(halved), final(whole))


def test_a_moving_average_may_be_switched_on_and_off(
    tiny: Any, trained: Path, caplog: pytest.LogCaptureFixture
) -> None:
    averaged = tiny("training.ema_decay=0.9", "training.max_steps=14")
    changed(averaged)
    assert "the moving average begins with the weights of step-000012" in caplog.text
    assert final_average(averaged).keys() == final(averaged).keys()
    plain = tiny("training.max_steps=16")
    changed(plain)
    assert not final_average(plain)


def test_a_stop_during_validation_saves_and_the_validation_is_made_up(
    tiny: Any, trained: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = tiny()
    expected = run(whole).progress
    halved = tiny(f"run.directory={tmp_path}/halved")
    original = Validator._losses

    def loss_with_a_signal(self: Validator, model: Any) -> Means:
        os.kill(os.getpid(), signal.SIGINT)
        return original(self, model)

    with monkeypatch.context() as patch:
        patch.setattr(Validator, "_losses", loss_with_a_signal)
        with pytest.raises(Interrupted), stop_on_signals() as stop:
            train_run(halved, stop)
    state = load_checkpoint(find_checkpoint(RunFolder(tmp_path / "halved").checkpoints_folder, "last")).state
    assert (state.step, state.progress["validated_step"]) == (6, 0)
    progress = run(halved).progress
    assert_same_bits(final(halved), final(whole))
    assert progress.best_step == expected.best_step
    assert progress.best_score == expected.best_score


def test_same_seed_same_bits_and_another_seed_other_bits(tiny: Any, trained: Path, tmp_path: Path) -> None:
    again, other = (tiny(f"run.directory={tmp_path}/{seed}", f"run.seed={seed}") for seed in (1, 2))
    for config in (again, other):
        run(config)
    assert_same_bits(final(again), final(tiny()))
    assert any(not torch.equal(final(again)[key], value) for key, value in final(other).items())


def test_a_signal_during_the_last_save_is_not_lost(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Keeper.save

    def save_with_a_signal(self: Keeper, progress: Any, position: DataPosition) -> None:
        original(self, progress, position)
        if progress.step == 12:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(Keeper, "save", save_with_a_signal)
    with pytest.raises(Interrupted), stop_on_signals() as stop:
        train_run(tiny(), stop)


def test_a_second_signal_in_a_step_saves_nothing_torn(
    tiny: Any, trained: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    torn = tiny(f"run.directory={tmp_path}/torn")

    def step_with_two_signals(*arguments: Any) -> object:
        result = take_step(*arguments)
        if arguments[3] == 6:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
        return result

    with monkeypatch.context() as patch:
        patch.setattr("translator.training.engine.take_step", step_with_two_signals)
        with pytest.raises(Interrupted), stop_on_signals() as stop:
            train_run(torn, stop)
    assert steps_saved(RunFolder(tmp_path / "torn").checkpoints_folder) == [4], "the last whole checkpoint"
    run(torn)
    assert_same_bits(final(torn), final(tiny()))


def test_a_truncated_checkpoint_is_passed_over(
    tiny: Any, trained: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole = tiny(f"run.directory={tmp_path}/whole", "training.max_steps=20")
    run(whole)
    folder = RunFolder(trained).checkpoints_folder
    model = folder / "step-000012" / "model.safetensors"
    model.write_bytes(model.read_bytes()[:-100])
    longer = tiny("training.max_steps=20")
    run(longer)
    assert "model.safetensors is not what was written" in caplog.text
    assert "training goes on from step-000008" in caplog.text
    assert (folder / ".damaged-step-000012").is_dir()
    assert_same_bits(final(longer), final(whole))


def test_when_every_checkpoint_is_damaged_training_does_not_begin_anew(tiny: Any, trained: Path) -> None:
    folder = RunFolder(trained).checkpoints_folder
    for model in folder.glob("step-*/model.safetensors"):
        model.write_bytes(b"")
    with pytest.raises(CheckpointError, match=r"every checkpoint in .* is damaged: .*; or, to train again"):
        run(tiny("training.max_steps=20"))


def test_a_checkpoint_without_its_generators_is_refused(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is whole, so it is not passed over as if it were damaged."""
    with monkeypatch.context() as patch:
        patch.setattr("translator.training.keeper.random_numbers", dict)
        run(tiny())
    with pytest.raises(CheckpointError, match=r"lacks what training needs.*delete it to go on"):
        run(tiny("training.max_steps=20"))


def test_a_changed_corpus_is_noticed(tiny: Any, trained: Path, tmp_path: Path) -> None:
    with (tmp_path / "toy.tsv").open("a", encoding="utf-8") as corpus:
        corpus.write("zebra\tzebra\n")
    with pytest.raises(RunError, match="the corpus or its preparation has changed"):
        run(tiny("training.max_steps=20"))
