"""A run that is stopped and resumed ends with the same bits as one that was never stopped."""

import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.tiny_runs import NO_HELD_OUT, assert_same_bits, final, run
from translator.checkpoint.files import load_checkpoint
from translator.checkpoint.state import find_checkpoint, steps_saved
from translator.config import Config
from translator.core.update import Learner
from translator.data import DataHandler, DataPosition
from translator.errors import Interrupted
from translator.run.folder import RunFolder
from translator.run.signals import stop_on_signals
from translator.training.checkpointing import TrainingState
from translator.training.run_training import train_run
from translator.training.validation import Validator

At = Callable[..., None]
ALL_THAT_A_CHECKPOINT_HOLDS = (
    "training.precision=fp16",
    "training.ema_decay=0.9",
    "training.accumulation_steps=2",
    "batching.tokens_per_batch=300",
    "subword.model_type=unigram",
    "subword.vocabulary_size=40",
    "subword.byte_fallback=false",
    "training.augmentation.typos=0.3",
    NO_HELD_OUT,
)


def checkpoints(config: Config) -> Path:
    return RunFolder(Path(config.run.directory)).checkpoints_folder


def kill_ourselves(*numbers: int) -> None:
    for number in numbers:
        os.kill(os.getpid(), number)


@pytest.fixture
def after_update(monkeypatch: pytest.MonkeyPatch) -> At:
    """Send signals to this process after one update; step -1 sends none."""
    original = Learner.update

    def after(step: int, *numbers: int) -> None:
        def update(self: Learner, share: Any, number: int, *arguments: Any) -> Any:
            result = original(self, share, number, *arguments)
            if number == step:
                kill_ourselves(*numbers)
            return result

        monkeypatch.setattr(Learner, "update", update)

    return after


def interrupted(config: Config) -> None:
    with pytest.raises(Interrupted), stop_on_signals() as stop:
        train_run(config, stop)


def test_resumed_equals_uninterrupted_at_the_border_of_an_epoch(tiny: Any, tmp_path: Path, after_update: At) -> None:
    settings = (*ALL_THAT_A_CHECKPOINT_HOLDS, "training.max_steps=8")
    whole = tiny(f"run.directory={tmp_path}/whole", *settings)
    run(whole)

    # The update after which an epoch begins.
    with contextlib.closing(DataHandler(whole).training_batches.steps(DataPosition(), accumulation=2)) as steps:
        last_of_epoch = next(number for number, step in enumerate(steps, start=1) if step.next_position.row == 0)
    assert last_of_epoch < 8, "training should cross the border of an epoch"

    # Stopped there, and resumed.
    halved = tiny(f"run.directory={tmp_path}/halved", *settings)
    assert halved.model.dropout > 0
    after_update(last_of_epoch, signal.SIGTERM)
    interrupted(halved)
    assert steps_saved(checkpoints(halved))[-1] == last_of_epoch
    after_update(-1)
    assert len(run(halved).run.sessions()) == 2

    resumed = load_checkpoint(find_checkpoint(checkpoints(halved), "last"))
    expected = load_checkpoint(find_checkpoint(checkpoints(whole), "last"))
    assert_same_bits(resumed.model, expected.model)
    assert_same_bits(resumed.average, expected.average)
    assert_same_bits(resumed.moments, expected.moments)


def test_a_stop_during_the_last_validation_saves_and_the_validation_is_made_up_for(
    tiny: Any, trained: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    halved = tiny(f"run.directory={tmp_path}/halved", "training.validate_every=12")
    original = Validator.validate

    def validate_with_a_signal(self: Validator, check_stop: Callable[[], None]) -> Any:
        kill_ourselves(signal.SIGINT)
        return original(self, check_stop)

    with monkeypatch.context() as patch:
        patch.setattr(Validator, "validate", validate_with_a_signal)
        interrupted(halved)
    state = load_checkpoint(find_checkpoint(checkpoints(halved), "last")).state
    assert (state.step, state.progress["validated_step"]) == (12, 0)
    assert run(halved).progress.validated_step == 12
    assert_same_bits(final(halved), final(tiny()))


def test_a_signal_during_the_last_save_is_not_lost(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    original = TrainingState.save

    def save_with_a_signal(self: TrainingState) -> None:
        original(self)
        kill_ourselves(signal.SIGTERM)

    monkeypatch.setattr(TrainingState, "save", save_with_a_signal)
    config = tiny("training.max_steps=2", NO_HELD_OUT)
    interrupted(config)
    assert steps_saved(checkpoints(config)) == [2]
