"""A run folder: what is in it, who may write it, and when it is finished."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch

from tests.support.tiny_runs import run
from translator.checkpoint.state import find_checkpoint
from translator.core.update import Learner
from translator.errors import RunError
from translator.run.files import hold_folder, write_json


def test_a_finished_run_is_recognised_and_resumes_when_asked_for_more(tiny: Any, trained: Path) -> None:
    # A start with the same settings changes nothing.
    finished = run(tiny())
    assert finished.was_finished
    assert finished.scores
    assert "training.max_steps=12 is reached" in finished.reason
    assert len(finished.run.sessions()) == 1, "looking at a finished run is no restart"

    # More steps continue it, and the new best checkpoint is scored; another metric does not.
    with pytest.raises(RunError, match=r"training\.best_metric"):
        run(tiny("training.max_steps=18", "training.best_metric=loss"))
    longer = run(tiny("training.max_steps=18"))
    assert not longer.was_finished
    assert longer.progress.step == 18
    assert len(longer.run.sessions()) == 2
    best = find_checkpoint(longer.run.checkpoints_folder, "best").name
    assert {score.checkpoint for score in longer.scores} == {best}

    # A missing evaluation is made up, whatever other texts were scored.
    renamed_scores = [asdict(replace(score, test_set="other")) for score in longer.scores]
    write_json(longer.run.evaluation_folder / "scores.json", renamed_scores)
    rescored = run(tiny("training.max_steps=18"))
    assert rescored.was_finished
    assert rescored.scores == longer.scores


def test_all_settings_may_change_before_the_first_checkpoint(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leftovers of a first attempt that died early must not affect the second."""

    def die(*_: object, **__: object) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(Learner, "update", die)
        with pytest.raises(RuntimeError, match="killed"):
            run(tiny())
    outcome = run(tiny("subword.vocabulary_size=20", "model.d_model=32"))
    assert outcome.scores, "the run evaluates with the subword models that it was trained with"


def test_a_folder_in_use_or_with_other_files_is_refused(tiny: Any, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    with hold_folder(folder), pytest.raises(RunError, match="another process uses"):
        run(tiny())

    thesis = folder / "thesis.txt"
    thesis.write_text("precious")
    with pytest.raises(RunError, match="is not empty and not a run; choose another folder"):
        run(tiny())
    assert thesis.read_text() == "precious"


def test_a_model_that_does_not_fit_into_the_memory_is_an_error(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translator.training.run_training.build_learner", Mock(side_effect=torch.OutOfMemoryError))
    with pytest.raises(RunError, match=r"does not fit into the free memory .* a smaller model"):
        run(tiny())
