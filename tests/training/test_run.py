"""A run folder: what is in it, who may write it, and when it is finished."""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch

from tests.support.tiny_runs import run
from translator.core.update import Learner
from translator.errors import RunError
from translator.run.files import hold_folder


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
