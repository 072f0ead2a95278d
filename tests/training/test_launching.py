"""Launched ranks: a failure of one ends all, and is reported once."""

from pathlib import Path

import pytest
from torch.distributed.elastic.multiprocessing import PContext

from tests.support.rank_verbs import start_ranks
from tests.support.tiny_recipe import write_recipe
from translator.errors import TranslatorError
from translator.training.launching import LostProcessError


def test_a_killed_rank_stops_the_other_and_is_reported(tmp_path: Path) -> None:
    message = r"rank 1 of 2 was lost \(Killed; .*memory.*; the last checkpoint is intact, and the same command resumes"
    with pytest.raises(LostProcessError, match=message):
        start_ranks(tmp_path, 2, "die")
    assert "another rank of this run was lost" in (tmp_path / "lost").read_text()


def test_a_rank_that_no_longer_answers_ends_the_training_in_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    # Seconds until torch's launcher kills a rank that does not react to its signal.
    monkeypatch.setattr(PContext.close, "__defaults__", (None, 0.1))
    with pytest.raises(TranslatorError, match=r"^another rank of this run did not answer in time"):
        start_ranks(tmp_path, 2, "freeze")
    assert capfd.readouterr().err == ""


def test_ranks_with_other_settings_are_refused_in_one_message(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write_recipe(tmp_path)
    with pytest.raises(TranslatorError) as caught:
        start_ranks(tmp_path, 2, "train")
    assert str(caught.value).splitlines()[1:-1] == [
        "  corpus.sources.0.name: 'toy' on rank 0, 'پیکره' on rank 1",
        "  training.max_steps: 12 on rank 0, 7 on rank 1",
        "  training.learning_rate: 0.0007 on rank 0, 0.001 on rank 1",
    ]
    assert capfd.readouterr().err == ""


def test_a_bug_of_a_rank_ends_the_training_with_its_traceback(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert start_ranks(tmp_path, 1, "fail") == 1
    assert "ZeroDivisionError" in capfd.readouterr().err
