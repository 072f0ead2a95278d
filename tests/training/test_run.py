"""A run folder: what is in it, who may write it, and when it is finished."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_runs import run

from translator.checkpoint import find_checkpoint, steps_saved
from translator.corpus import NORMALIZER_VERSION
from translator.errors import CheckpointError, RunError
from translator.inference import Translator
from translator.lock import hold_folder
from translator.run_folder import RunFolder


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


def test_other_settings_are_refused_with_old_and_new_value(tiny: Any, trained: Path) -> None:
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
        patch.setattr("translator.training.engine.take_step", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        patch.setattr(os, "kill", lambda *_: (_ for _ in ()).throw(RuntimeError("killed")))
        with pytest.raises(RuntimeError, match="killed"):
            run(tiny())
    outcome = run(tiny("subword.vocabulary_size=20", "model.d_model=32"))
    assert outcome.scores, "the run evaluates with the subword models that it was trained with"


def test_new_scores_belong_to_the_new_checkpoint(tiny: Any, trained: Path) -> None:
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


def test_two_trainings_in_one_folder_are_refused(tiny: Any, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with hold_folder(tmp_path / "run"), pytest.raises(RunError, match="another process is at work in"):
        run(tiny())


def test_a_folder_that_is_no_run_is_left_alone(tiny: Any, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.txt").write_text("precious")
    with pytest.raises(RunError, match="is not empty and holds no run; choose another folder"):
        run(tiny())
    assert [entry.name for entry in (tmp_path / "run").iterdir()] == ["thesis.txt"]


def test_each_sitting_that_trains_is_noted(tiny: Any, trained: Path) -> None:
    folder = run(tiny()).run
    assert len(folder.sittings()) == 1, "looking at a finished run is no sitting"
    run(tiny("training.max_steps=14"))
    assert len(folder.sittings()) == 2


def test_a_corpus_may_move(tiny: Any, tmp_path: Path, trained: Path) -> None:
    (tmp_path / "toy.tsv").rename(tmp_path / "moved.tsv")
    outcome = run(tiny("training.max_steps=14", f"corpus.sources.0.path={tmp_path}/moved.tsv"))
    assert outcome.progress.step == 14


def test_a_config_file_of_something_else_is_left_alone(tiny: Any, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.yaml").write_text("my: precious\n")
    with pytest.raises(RunError, match="was not written by a run, and training would overwrite it"):
        run(tiny())
    assert (tmp_path / "run" / "config.yaml").read_text() == "my: precious\n"


def test_the_version_of_the_normalizer_travels_with_the_run(
    tiny: Any, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(trained)
    assert [sitting["normalizer_version"] for sitting in folder.sittings()] == [NORMALIZER_VERSION]
    assert (folder.preparation_folder / "report.html").is_file()
    for module in ("corpus.prepare", "data.encoding", "checkpoint.state"):
        monkeypatch.setattr(f"translator.{module}.NORMALIZER_VERSION", NORMALIZER_VERSION + 1)
    told = f"normalizer version {NORMALIZER_VERSION}, this version of translator has {NORMALIZER_VERSION + 1}"
    with pytest.raises(CheckpointError, match=told):
        run(tiny("training.max_steps=20"))
    with pytest.raises(CheckpointError, match=told):
        Translator.load(folder.path)


def test_a_run_is_used_with_the_rules_it_was_trained_with(trained: Path) -> None:
    folder = RunFolder(trained)
    text = folder.config_file.read_text(encoding="utf-8")
    folder.config_file.write_text(text.replace("digits: persian", "digits: ascii"), encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"corpus.normalization in .* was trained with \(digits\); restore"):
        Translator.load(folder.path)
