"""A run folder: what is in it, who may write it, and when it is finished."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from tiny_runs import run

from translator.checkpoint.state import find_checkpoint
from translator.errors import RunError
from translator.run.locks import hold_folder
from translator.run.storage import write_json
from translator.training.update import Updater


def test_a_finished_run_is_recognised_and_resumes_when_asked_for_more(tiny: Any, trained: Path) -> None:
    again = run(tiny())
    assert again.was_finished and again.scores
    assert "training.max_steps=12 is reached" in again.reason
    assert len(again.run.sessions()) == 1, "looking at a finished run is no restart"
    with pytest.raises(RunError, match=r"training\.best_metric"):
        run(tiny("training.max_steps=18", "training.best_metric=loss"))
    longer = run(tiny("training.max_steps=18"))
    assert not longer.was_finished and longer.progress.step == 18 and len(longer.run.sessions()) == 2
    best = find_checkpoint(longer.run.checkpoints_folder, "best").name
    assert {score.checkpoint for score in longer.scores} == {best} == {f"step-{longer.progress.best_step:06d}"}
    renamed_scores = [replace(score, test_set="other").to_json() for score in longer.scores]
    write_json(longer.run.evaluation_folder / "scores.json", renamed_scores)
    again = run(tiny("training.max_steps=18"))
    assert again.was_finished and again.scores == longer.scores, (
        "a missing evaluation is made up, whatever other texts were scored"
    )


def test_all_settings_may_change_before_the_first_checkpoint(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leftovers of a first attempt that died early must not affect the second."""
    with monkeypatch.context() as patch:
        patch.setattr(Updater, "update", lambda *_, **__: (_ for _ in ()).throw(RuntimeError("killed")))
        with pytest.raises(RuntimeError, match="killed"):
            run(tiny())
    outcome = run(tiny("subword.vocabulary_size=20", "model.d_model=32"))
    assert outcome.scores, "the run evaluates with the subword models that it was trained with"


def test_a_folder_in_use_or_with_other_files_is_refused(tiny: Any, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with hold_folder(tmp_path / "run"), pytest.raises(RunError, match="another process uses"):
        run(tiny())
    (tmp_path / "run" / "thesis.txt").write_text("precious")
    with pytest.raises(RunError, match="is not empty and not a run; choose another folder"):
        run(tiny())
    assert (tmp_path / "run" / "thesis.txt").read_text() == "precious"


def test_a_model_that_does_not_fit_into_the_memory_is_an_error(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translator.training.run_training.Updater", Mock(side_effect=torch.OutOfMemoryError))
    with pytest.raises(RunError, match=r"does not fit into the free memory of the GPU; .* make the model smaller"):
        run(tiny())
