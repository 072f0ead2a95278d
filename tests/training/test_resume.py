"""A run that is stopped and resumed ends with the same bits as one that was never stopped."""

import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.tiny_runs import assert_same_bits, final, run
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
UNIGRAM = ("subword.model_type=unigram", "subword.vocabulary_size=40", "subword.byte_fallback=false")


def checkpoints(config: Config) -> Path:
    return RunFolder(Path(config.run.directory)).checkpoints_folder


def kill_ourselves(*numbers: int) -> None:
    for number in numbers:
        os.kill(os.getpid(), number)


@pytest.fixture
def at_update(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Send signals to this process before or after one update; step -1 sends none."""
    original = Learner.update

    def at(step: int, *numbers: int, after: bool = False) -> None:
        def update(self: Learner, share: Any, number: int, *arguments: Any, **settings: Any) -> Any:
            if number == step and not after:
                kill_ourselves(*numbers)
            result = original(self, share, number, *arguments, **settings)
            if number == step and after:
                kill_ourselves(*numbers)
            return result

        monkeypatch.setattr(Learner, "update", update)

    return at


def interrupted(config: Config) -> None:
    with pytest.raises(Interrupted), stop_on_signals() as stop:
        train_run(config, stop)


FP16 = ("training.precision=fp16",)
AVERAGE = ("training.ema_decay=0.9", "training.optimizer=muon", "training.accumulation_steps=2")


@pytest.mark.parametrize(("step", "settings"), [(6, ()), (7, AVERAGE), (7, FP16)])
def test_resumed_equals_uninterrupted(
    tiny: Any, trained: Path, tmp_path: Path, step: int, settings: tuple[str, ...], at_update: At
) -> None:
    """Dropout is on. Step 6 is validated, 7 lies between two checkpoints."""
    whole = tiny(f"run.directory={tmp_path}/whole", *settings) if settings else tiny()
    run(whole)

    # Stopped at a step, and resumed.
    halved = tiny(f"run.directory={tmp_path}/halved", *settings)
    assert halved.model.dropout > 0
    at_update(step, signal.SIGTERM)
    interrupted(halved)
    assert steps_saved(checkpoints(halved))[-1] == step, "the stop saved the step it interrupted"
    at_update(-1)
    assert run(halved).progress.starts == 2

    resumed = load_checkpoint(find_checkpoint(checkpoints(halved), "last"))
    expected = load_checkpoint(find_checkpoint(checkpoints(whole), "last"))
    assert_same_bits(resumed.model, expected.model)
    assert_same_bits(resumed.average, expected.average)


def test_resumed_equals_uninterrupted_with_sampled_pieces_at_the_border_of_an_epoch(
    tiny: Any, tmp_path: Path, at_update: At
) -> None:
    sampled = (*UNIGRAM, "subword.sampling=0.3", "batching.tokens_per_batch=300")
    whole = tiny(f"run.directory={tmp_path}/whole", *sampled)
    run(whole)

    # The update after which the second epoch begins.
    with contextlib.closing(DataHandler(whole).train_batches(DataPosition())) as batches:
        last_of_epoch = next(number for number, (_, position) in enumerate(batches, start=1) if position.epoch == 1)
    assert 4 <= last_of_epoch <= 8, "training should cross the border of an epoch"

    # Stopped there, and resumed.
    halved = tiny(f"run.directory={tmp_path}/halved", *sampled)
    at_update(last_of_epoch, signal.SIGTERM)
    interrupted(halved)
    position = load_checkpoint(find_checkpoint(checkpoints(halved), "last")).state.position
    assert position == {"epoch": 1, "row": 0}
    at_update(-1)
    run(halved)
    assert_same_bits(final(halved), final(whole))


def test_a_stop_during_validation_saves_and_the_validation_is_repeated(
    tiny: Any, trained: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    halved = tiny(f"run.directory={tmp_path}/halved")
    original = Validator._losses

    def losses_with_a_signal(self: Validator, check_stop: Callable[[], None]) -> Any:
        kill_ourselves(signal.SIGINT)
        return original(self, check_stop)

    with monkeypatch.context() as patch:
        patch.setattr(Validator, "_losses", losses_with_a_signal)
        interrupted(halved)
    state = load_checkpoint(find_checkpoint(checkpoints(halved), "last")).state
    assert state.step == 6
    assert state.progress["validated_step"] == 0

    # The resumed run has the weights and the best validation of an uninterrupted one.
    progress = run(halved).progress
    assert_same_bits(final(halved), final(tiny()))
    expected = load_checkpoint(find_checkpoint(checkpoints(tiny()), "last")).state.progress
    assert progress.best_score == expected["best_score"]


def test_a_signal_during_the_last_save_is_not_lost(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    original = TrainingState.save

    def save_with_a_signal(self: TrainingState) -> None:
        original(self)
        kill_ourselves(signal.SIGTERM)

    monkeypatch.setattr(TrainingState, "save", save_with_a_signal)
    config = tiny("training.max_steps=2", "training.validate_every=100")
    interrupted(config)
    assert steps_saved(checkpoints(config)) == [2]


def test_a_second_signal_leaves_no_torn_checkpoint(tiny: Any, trained: Path, tmp_path: Path, at_update: At) -> None:
    torn = tiny(f"run.directory={tmp_path}/torn")
    at_update(6, signal.SIGINT, signal.SIGINT, after=True)
    interrupted(torn)
    assert steps_saved(checkpoints(torn)) == [4], "the last whole checkpoint"
    at_update(-1)
    run(torn)
    assert_same_bits(final(torn), final(tiny()))
