"""The event files of a run, as TensorBoard reads them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tensorboard.summary.writer import event_file_writer

from tests.support.event_files import curve, read_events
from translator.evaluation import Score
from translator.training.monitoring.event_file import event_file, show_test_scores


@pytest.fixture(autouse=True)
def ordered_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Event files of the same second are read in name order; a name ends in a count of the files of this process.

    The tenth writer would come before the ninth.
    """
    monkeypatch.setattr(event_file_writer, "_global_uid", event_file_writer.AtomicCounter(0))


def test_a_restart_removes_later_points_of_earlier_files(tmp_path: Path) -> None:
    for start, loss in ((0, 3.0), (1, 2.0)):
        with event_file(tmp_path, start) as events:
            for step in range(start + 1, 4):
                events.add_scalar("loss/train", loss, step)
    assert curve(tmp_path, "loss/train") == [(1, 3.0), (2, 2.0), (3, 2.0)]


BLEU = Score(
    test_set="mizan",
    metric="bleu",
    score=30.0,
    signature="",
    normalization="raw",
    checkpoint="step-000020",
    sentences=1,
)


@pytest.mark.parametrize("changes", [{"normalization": "normalizer-3 on both sides"}, {"checkpoint": "averaged"}])
def test_only_raw_scores_of_a_step_are_plotted(tmp_path: Path, changes: dict[str, Any]) -> None:
    show_test_scores(tmp_path, [BLEU, replace(BLEU, score=31.0, **changes)], has_own_set=True)
    assert curve(tmp_path, "quality/test_bleu") == [(20, 30.0)]


def test_only_bleu_and_chrf_of_the_first_test_set_compare_runs(tmp_path: Path) -> None:
    scores = [BLEU, replace(BLEU, metric="length_ratio"), replace(BLEU, test_set="tep")]
    show_test_scores(tmp_path, scores, has_own_set=True)
    tags = {"quality/test_bleu", "test_by_set/mizan/bleu", "test_by_set/mizan/length_ratio", "test_by_set/tep/bleu"}
    assert set(read_events(tmp_path).Tags()["scalars"]) == tags
