"""The event files of a run, as TensorBoard reads them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tensorboard.summary.writer import event_file_writer

from tests.support.event_files import curve, read_events
from translator.errors import StorageError
from translator.evaluation import Score
from translator.training.monitoring.event_file import EventFile, show_test_scores


@pytest.fixture(autouse=True)
def ordered_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Event files of the same second are read in name order; a name ends in a count of the files of this process.

    The tenth writer would come before the ninth.
    """
    monkeypatch.setattr(event_file_writer, "_global_uid", event_file_writer.AtomicCounter(0))


def test_a_curve_has_a_point_for_each_step(tmp_path: Path) -> None:
    events = EventFile(tmp_path, 0)
    events.add_curves({"loss": {"train": 3.0}}, 1)
    events.add_curves({"loss": {"train": 2.0}}, 2)
    events.close()
    assert curve(tmp_path, "loss/train") == [(1, 3.0), (2, 2.0)]


def test_a_restart_removes_later_points_of_earlier_files(tmp_path: Path) -> None:
    for start, loss in ((0, 3.0), (1, 2.0)):
        events = EventFile(tmp_path, start)
        for step in range(start + 1, 4):
            events.add_curves({"loss": {"train": loss}}, step)
        events.close()
    assert curve(tmp_path, "loss/train") == [(1, 3.0), (2, 2.0), (3, 2.0)]


def test_a_full_disk_is_reported_in_plain_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("torch.utils.tensorboard.SummaryWriter.add_scalar", full)
    events = EventFile(tmp_path / "tensorboard", 0)
    with pytest.raises(StorageError, match=r"cannot write .*tensorboard: the disk is full"):
        events.add_curves({"train": {"loss": 3.0}}, 1)


BLEU = Score(
    test_set="mizan",
    metric="bleu",
    score=30.0,
    signature="",
    normalization="raw",
    checkpoint="step-000020",
    sentences=1,
)


def test_without_a_folder_no_test_scores_are_written(tmp_path: Path) -> None:
    show_test_scores(tmp_path / "none", [BLEU], has_own_set=True)
    assert list(tmp_path.iterdir()) == []


def test_test_scores_are_plotted_at_their_checkpoint_step(tmp_path: Path) -> None:
    show_test_scores(tmp_path, [BLEU], has_own_set=True)
    assert curve(tmp_path, "quality/test_bleu") == [(20, 30.0)]
    assert curve(tmp_path, "test_by_set/mizan/bleu") == [(20, 30.0)]


@pytest.mark.parametrize("changes", [{"normalization": "normalizer-3 on both sides"}, {"checkpoint": "averaged"}])
def test_only_raw_scores_of_a_step_are_plotted(tmp_path: Path, changes: dict[str, Any]) -> None:
    show_test_scores(tmp_path, [BLEU, replace(BLEU, score=31.0, **changes)], has_own_set=True)
    assert curve(tmp_path, "quality/test_bleu") == [(20, 30.0)]


def test_only_bleu_and_chrf_of_the_first_test_set_compare_runs(tmp_path: Path) -> None:
    scores = [BLEU, replace(BLEU, metric="length_ratio"), replace(BLEU, test_set="tep")]
    show_test_scores(tmp_path, scores, has_own_set=True)
    tags = {"quality/test_bleu", "test_by_set/mizan/bleu", "test_by_set/mizan/length_ratio", "test_by_set/tep/bleu"}
    assert set(read_events(tmp_path).Tags()["scalars"]) == tags


def test_scores_of_an_outside_test_set_do_not_compare_runs(tmp_path: Path) -> None:
    show_test_scores(tmp_path, [BLEU], has_own_set=False)
    assert read_events(tmp_path).Tags()["scalars"] == ["test_by_set/mizan/bleu"]
