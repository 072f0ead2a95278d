"""A run that is stopped and goes on ends in the same bits as one that was not."""

import itertools
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from translator.checkpoint import find_checkpoint, load_checkpoint, steps_saved
from translator.config import Config
from translator.data import Batch, DataHandler, DataPosition, collate
from translator.device import Arithmetic
from translator.errors import CheckpointError, Interrupted, RunError
from translator.model import Transformer
from translator.run_folder import RunFolder
from translator.signals import StopRequest, stop_on_signals
from translator.special_tokens import EOS, PAD, SOS
from translator.storage import exclusive
from translator.training.keeper import Keeper
from translator.training.run import TrainingOutcome, train_run
from translator.training.step import take_step
from translator.training.validation import Validator


def run(config: Config) -> TrainingOutcome:
    return train_run(config, StopRequest())


def final(config: Config) -> dict[str, torch.Tensor]:
    return load_checkpoint(find_checkpoint(RunFolder(Path(config.run.directory)).checkpoints_folder, "last")).model


def assert_same_bits(ours: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    assert ours.keys() == expected.keys()
    for key, tensor in expected.items():
        assert torch.equal(ours[key], tensor), key


def stop_at_step(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Send SIGTERM to ourselves in the middle of one training step."""

    def step_with_a_signal(*arguments: Any) -> object:
        if arguments[3] == step:
            os.kill(os.getpid(), signal.SIGTERM)
        return take_step(*arguments)

    monkeypatch.setattr("translator.training.trainer.take_step", step_with_a_signal)


@pytest.mark.parametrize("step", [1, 5, 6, 11])
def test_resumed_equals_uninterrupted(tiny: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, step: int) -> None:
    whole = tiny(f"run.directory={tmp_path}/whole", "training.accumulation_steps=2")
    run(whole)
    halved = tiny(f"run.directory={tmp_path}/halved", "training.accumulation_steps=2")
    with monkeypatch.context() as patch:
        stop_at_step(patch, step)
        with pytest.raises(Interrupted), stop_on_signals() as stop:
            train_run(halved, stop)
    folder = RunFolder(Path(halved.run.directory)).checkpoints_folder
    assert steps_saved(folder)[-1] == step, "the stop saved the step it interrupted"
    outcome = run(halved)
    assert outcome.progress.sittings == 2
    assert_same_bits(final(halved), final(whole))


def test_a_stop_during_validation_saves_and_the_validation_is_made_up(
    tiny: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = tiny(f"run.directory={tmp_path}/whole")
    expected = run(whole).progress
    halved = tiny(f"run.directory={tmp_path}/halved")
    original = Validator._loss

    def loss_with_a_signal(self: Validator, model: Any) -> float:
        os.kill(os.getpid(), signal.SIGINT)
        return original(self, model)

    with monkeypatch.context() as patch:
        patch.setattr(Validator, "_loss", loss_with_a_signal)
        with pytest.raises(Interrupted), stop_on_signals() as stop:
            train_run(halved, stop)
    state = load_checkpoint(find_checkpoint(RunFolder(tmp_path / "halved").checkpoints_folder, "last")).state
    assert (state.step, state.progress["validated_step"]) == (6, 0)
    progress = run(halved).progress
    assert_same_bits(final(halved), final(whole))
    assert progress.best_step == expected.best_step
    assert progress.best_score == expected.best_score


def test_same_seed_same_bits_and_another_seed_other_bits(tiny: Any, tmp_path: Path) -> None:
    configs = [
        tiny(f"run.directory={tmp_path}/{name}", f"run.seed={seed}") for name, seed in (("a", 3), ("b", 3), ("c", 4))
    ]
    for config in configs:
        run(config)
    assert_same_bits(final(configs[0]), final(configs[1]))
    assert any(not torch.equal(final(configs[0])[key], value) for key, value in final(configs[2]).items())


def test_a_finished_run_says_so_and_goes_on_when_asked_for_more(tiny: Any) -> None:
    first = run(tiny())
    assert not first.was_finished
    assert "training.max_steps=12 is reached" in first.reason
    again = run(tiny())
    assert again.was_finished
    assert again.scores == first.scores
    longer = run(tiny("training.max_steps=15"))
    assert not longer.was_finished
    assert longer.progress.step == 15


def test_the_run_folder_explains_itself(tiny: Any, tmp_path: Path) -> None:
    outcome = run(tiny("training.keep_checkpoints=2"))
    folder = outcome.run
    assert folder.config() == tiny("training.keep_checkpoints=2")
    (sitting,) = folder.sittings()
    assert sitting["versions"]["torch"] == torch.__version__
    assert {"git", "hardware", "command"} <= sitting.keys()
    assert sorted(path.name for path in folder.subword_folder.iterdir()) == [
        "source.model",
        "subword.json",
        "target.model",
    ]
    steps = steps_saved(folder.checkpoints_folder)
    assert len(steps) <= 3
    assert steps[-1] == 12
    assert (folder.checkpoints_folder / "last").resolve().name == "step-000012"
    best = outcome.progress.best_step
    assert (folder.checkpoints_folder / "best").resolve().name == f"step-{best:06d}"
    assert list(folder.tensorboard_folder.glob("events*"))
    assert (folder.evaluation_folder / "scores.json").is_file()
    log = folder.log_file.read_text(encoding="utf-8")
    assert "step 6: validation loss" in log


def test_other_settings_are_refused_with_old_and_new_value(tiny: Any) -> None:
    run(tiny())
    with pytest.raises(RunError, match=r"holds a run with other settings") as caught:
        run(tiny("model.d_model=32", "training.learning_rate=0.5", "training.log_every=2"))
    message = str(caught.value)
    assert "model.d_model: 16 → 32" in message
    assert "training.learning_rate: 0.0007 → 0.5" in message
    assert "log_every" not in message
    assert "run.directory=" in message


def test_before_the_first_checkpoint_all_settings_may_change(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was left by a first try that died early must not mix with the second."""
    with monkeypatch.context() as patch:
        patch.setattr("translator.training.trainer.take_step", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        patch.setattr(os, "kill", lambda *_: (_ for _ in ()).throw(RuntimeError("killed")))
        with pytest.raises(RuntimeError, match="killed"):
            run(tiny())
    outcome = run(tiny("subword.vocabulary_size=20", "model.d_model=32"))
    assert outcome.scores, "the run evaluates with the subword models that it was trained with"


def test_new_scores_belong_to_the_new_checkpoint(tiny: Any) -> None:
    run(tiny())
    longer = tiny("training.max_steps=18", "training.best_metric=loss", "training.learning_rate=0.0007")
    with pytest.raises(RunError, match=r"training\.best_metric"):
        run(longer)
    outcome = run(tiny("training.max_steps=18"))
    best = find_checkpoint(outcome.run.checkpoints_folder, "best").name
    assert {score.checkpoint for score in outcome.scores} == {best}
    (outcome.run.evaluation_folder / "scores.json").write_text("[]")
    again = run(tiny("training.max_steps=18"))
    assert again.was_finished
    assert again.scores == outcome.scores, "an evaluation that is missing is made up"


def test_a_signal_during_the_last_save_is_not_lost(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Keeper.save

    def save_with_a_signal(self: Keeper, progress: Any, position: DataPosition) -> None:
        original(self, progress, position)
        if progress.step == 12:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(Keeper, "save", save_with_a_signal)
    with pytest.raises(Interrupted), stop_on_signals() as stop:
        train_run(tiny(), stop)


def test_two_trainings_in_one_folder_are_refused(tiny: Any, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with exclusive(tmp_path / "run"), pytest.raises(RunError, match="another process is training in"):
        run(tiny())


def test_a_folder_that_is_no_run_is_left_alone(tiny: Any, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.txt").write_text("precious")
    with pytest.raises(RunError, match="is not empty and holds no run; choose another folder"):
        run(tiny())
    assert [entry.name for entry in (tmp_path / "run").iterdir()] == ["thesis.txt"]


def test_each_sitting_that_trains_is_noted(tiny: Any) -> None:
    folder = run(tiny()).run
    run(tiny())
    assert len(folder.sittings()) == 1, "looking at a finished run is no sitting"
    run(tiny("training.max_steps=14"))
    assert len(folder.sittings()) == 2


def test_a_corpus_may_move(tiny: Any, tmp_path: Path) -> None:
    run(tiny())
    (tmp_path / "toy.tsv").rename(tmp_path / "moved.tsv")
    outcome = run(tiny("training.max_steps=14", f"corpus.sources.0.path={tmp_path}/moved.tsv"))
    assert outcome.progress.step == 14


def test_a_changed_corpus_is_noticed(tiny: Any, tmp_path: Path) -> None:
    run(tiny())
    with (tmp_path / "toy.tsv").open("a", encoding="utf-8") as corpus:
        corpus.write("zebra\tzebra\n")
    with pytest.raises(RunError, match="the corpus or its preparation has changed"):
        run(tiny("training.max_steps=20"))


def test_a_truncated_checkpoint_is_one_clear_message(tiny: Any) -> None:
    outcome = run(tiny())
    model = outcome.run.checkpoints_folder / "step-000012" / "model.safetensors"
    model.write_bytes(model.read_bytes()[:-100])
    with pytest.raises(CheckpointError, match=r"damaged checkpoint: .*model\.safetensors is not what was written"):
        run(tiny("training.max_steps=20"))


def test_early_stopping_ends_the_run(tiny: Any) -> None:
    overrides = ["training.max_steps=500", "training.validate_every=1", "training.early_stopping=3"]
    outcome = run(tiny(*overrides, "training.learning_rate=1e-12", "training.best_metric=chrf"))
    assert "training.early_stopping=3" in outcome.reason
    assert outcome.progress.step < 100


def test_a_time_limit_ends_the_run(tiny: Any) -> None:
    outcome = run(tiny("training.max_steps=100000", "training.max_minutes=0.01"))
    assert "training.max_minutes=0.01" in outcome.reason
    assert outcome.progress.step >= 1


def test_a_loss_that_is_not_finite_stops_the_run_and_harms_no_checkpoint(
    tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny("training.log_every=1")

    def poisoned(model: Any, *arguments: Any) -> object:
        if arguments[2] == 9:
            with torch.no_grad():
                next(model.parameters()).fill_(float("nan"))
        return take_step(model, *arguments)

    monkeypatch.setattr("translator.training.trainer.take_step", poisoned)
    with pytest.raises(RunError, match=r"no longer finite near step 9.*Lower training\.learning_rate"):
        run(config)
    saved = final(config)
    assert all(torch.isfinite(tensor).all() for tensor in saved.values())


def test_accumulated_batches_give_the_gradient_of_their_union(tiny: Any) -> None:
    """One step over three uneven batches equals one step over all their pairs at once."""
    settings = ["training.gradient_clip=null", "training.warmup_steps=0", "training.learning_rate=1.0"]
    config = tiny(*settings, "batching.tokens_per_batch=64")
    data = DataHandler(config)
    sizes = data.subword.source.vocabulary_size, data.subword.target.vocabulary_size
    batches = [batch for batch, _ in itertools.islice(data.train_batches(DataPosition()), 3)]
    assert len({batch.target_tokens for batch in batches}) > 1, "uneven batches, or a mean of means would pass"
    special = (PAD, SOS, EOS)
    sources = [[t for t in row.tolist() if t not in special] for batch in batches for row in batch.source]
    targets = [[t for t in row.tolist() if t not in special] for batch in batches for row in batch.labels]
    union = collate(sources, targets, range(len(sources)))

    def updated(rows: list[Batch]) -> dict[str, torch.Tensor]:
        """Weights after one step of plain gradient descent, so that their change is the gradient itself."""
        torch.manual_seed(0)
        model = Transformer(config.model, *sizes).eval()
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        take_step(model, rows, optimizer, 1, config.training, Arithmetic(torch.device("cpu"), "float32"))
        return model.state_dict()

    apart, together = updated(batches), updated([union])
    for key, value in together.items():
        torch.testing.assert_close(apart[key], value, rtol=0, atol=1e-6, msg=key)


def test_a_second_signal_in_a_step_saves_nothing_torn(
    tiny: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = tiny(f"run.directory={tmp_path}/whole")
    run(whole)
    torn = tiny(f"run.directory={tmp_path}/torn")

    def step_with_two_signals(*arguments: Any) -> object:
        result = take_step(*arguments)
        if arguments[3] == 6:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
        return result

    with monkeypatch.context() as patch:
        patch.setattr("translator.training.trainer.take_step", step_with_two_signals)
        with pytest.raises(Interrupted), stop_on_signals() as stop:
            train_run(torn, stop)
    assert steps_saved(RunFolder(tmp_path / "torn").checkpoints_folder) == [4], "the last whole checkpoint"
    run(torn)
    assert_same_bits(final(torn), final(whole))


def test_a_config_file_of_something_else_is_left_alone(tiny: Any, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.yaml").write_text("my: precious\n")
    with pytest.raises(RunError, match="was not written by a run, and training would overwrite it"):
        run(tiny())
    assert (tmp_path / "run" / "config.yaml").read_text() == "my: precious\n"


def test_a_checkpoint_without_its_generators_is_refused(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("translator.training.keeper.random_numbers", dict)
        run(tiny())
    with pytest.raises(CheckpointError, match=r"lacks what training needs.*delete it to go on"):
        run(tiny("training.max_steps=20"))


def test_bf16_autocast_trains_with_float32_weights(tiny: Any) -> None:
    outcome = run(tiny("training.precision=bf16"))
    assert outcome.progress.last_validation["loss"] < 5
    assert {tensor.dtype for tensor in final(tiny()).values()} == {torch.float32}
