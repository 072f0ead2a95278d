"""The learning curve is what the log of a run says, without the steps that were lost."""

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from translator.evaluation.report.learning_curve import TRAINING_LOSS, LearningCurve, read_learning_curve
from translator.evaluation.report.plots import learning_plots
from translator.log import log_to_file
from translator.run_folder import RunFolder
from translator.training.observer import Observer

TIME = "2026-01-02 03:04:05,678 INFO"


def curves(folder: Path, *lines: str) -> dict[str, tuple[tuple[int, float], ...]]:
    run = RunFolder(folder)
    run.log_file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    found = read_learning_curve(run)
    assert found.system == folder.name
    return dict(found.curves)


def test_losses_and_scores(tmp_path: Path) -> None:
    assert curves(
        tmp_path,
        f"{TIME} step 980: loss 4.5  perplexity 90.0  gradient_norm 1; loss by length: 01-08 7.7",
        f"{TIME} step 1,000: loss 4  perplexity 54.6  gradient_norm 1",
        f"{TIME} step 1000: validation loss 5.64  perplexity 281.26  bleu 0.03  chrf 4.55  (best so far)",
        f"{TIME} step 1,000: epoch 3 begins",
    ) == {
        TRAINING_LOSS: ((980, 4.5), (1000, 4.0)),
        "loss": ((1000, 5.64),),
        "bleu": ((1000, 0.03),),
        "chrf": ((1000, 4.55),),
    }


def test_steps_that_were_lost_count_as_taken_last(tmp_path: Path) -> None:
    found = curves(
        tmp_path,
        f"{TIME} step 10: loss 9  perplexity 1",
        f"{TIME} step 20: validation loss 8  perplexity 1",
        f"{TIME} step 20: loss 8  perplexity 1",
        f"{TIME} step 15: loss 7  perplexity 1",
        f"{TIME} step 30: loss 6  perplexity 1",
    )
    assert found == {TRAINING_LOSS: ((10, 9.0), (15, 7.0), (30, 6.0))}


def test_what_is_no_number_is_left_out(tmp_path: Path) -> None:
    assert (
        curves(
            tmp_path,
            f"{TIME} step 10: loss nan  perplexity nan",
            "step 5: loss 3",
            "\udcff".encode("utf-8", "replace").decode(),
        )
        == {}
    )


def test_a_run_without_a_log_has_no_curves(tmp_path: Path) -> None:
    assert read_learning_curve(RunFolder(tmp_path)).curves == {}


def test_the_name_is_that_of_the_translated_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "base").mkdir()
    monkeypatch.chdir(tmp_path / "base")
    assert read_learning_curve(RunFolder(Path())).system == "base"
    (tmp_path / "newest").symlink_to("base")
    assert read_learning_curve(RunFolder(tmp_path / "newest")).system == "base"


def test_curves_of_two_runs_of_one_name_are_told_apart() -> None:
    curve = LearningCurve("base", {"loss": ((1, 2.0), (2, 1.0))})
    assert [group.title for group in learning_plots([curve, curve])] == ["base", "base (2)"]


def test_it_reads_what_training_writes(tmp_path: Path) -> None:
    """The line of a validation is that of the observer itself: whoever changes it will meet this test."""
    run = RunFolder(tmp_path)
    silent = SimpleNamespace(validation=lambda *_: None)
    observer = SimpleNamespace(_ranks=SimpleNamespace(main=True), _progress=SimpleNamespace(step=1500), _monitor=silent)
    validation = SimpleNamespace(scores={"loss": 4.621, "perplexity": 101.6, "bleu": 1.21, "chrf": 15.15})
    with log_to_file(run.log_file):
        Observer.validated(cast(Any, observer), cast(Any, validation), True, cast(Any, None), None)
        logging.getLogger("translator").info("step 1,520: loss 4.5  perplexity 90")
    assert read_learning_curve(run).curves == {
        "loss": ((1500, 4.62),),
        "bleu": ((1500, 1.21),),
        "chrf": ((1500, 15.15),),
        TRAINING_LOSS: ((1520, 4.5),),
    }
