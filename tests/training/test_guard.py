"""Skipped updates are counted; too many in a row end the run and leave the sentences behind."""

import json
import logging
from pathlib import Path

import pytest
from safetensors.numpy import load_file
from step_results import broken_step, step_result

from translator.errors import RunError
from translator.training.breakdown import Sources
from translator.training.guard import STOPPED_BATCH, Guard
from translator.training.ranks import Ranks

SOURCES = Sources.of_counts({"mizan": 10, "tep": 5})


class TwoRanks(Ranks):
    """This rank among two, of which the other always says the same thing."""

    def __init__(self, rank: int, other: str = "[]") -> None:
        self.rank, self.world, self.local_rank = rank, 2, rank
        self._other = other

    def gather_text(self, text: str) -> list[str]:
        return [text, self._other] if self.rank == 0 else [self._other, text]


def guard(folder: Path, max_skipped: int = 3, ranks: Ranks | None = None) -> Guard:
    return Guard(folder, max_skipped, seed=11, sources=SOURCES, ranks=ranks or Ranks.alone())


def test_good_steps_leave_no_trace(tmp_path: Path) -> None:
    watching = guard(tmp_path)
    for step in range(1, 6):
        watching.watch(step, step_result([0], [3], [2.0]))
    watching.settle()
    assert watching.state_dict() == {"skipped": 0, "in_a_row": 0}
    assert list(tmp_path.iterdir()) == []


def test_skipped_updates_are_counted_and_said_once_in_a_row(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("translator"), "propagate", True)
    watching = guard(tmp_path)
    for step, good in enumerate([False, False, True, False], start=5):
        watching.watch(step, step_result([0], [3], [2.0]) if good else broken_step())
    assert (watching.skipped, watching.in_a_row) == (3, 1)
    # By identity: a handler that an earlier test left on the logger makes the same record come twice.
    said = [record.getMessage() for record in {id(record): record for record in caplog.records}.values()]
    assert [line.split(":")[0] for line in said] == ["step 5", "step 8"]
    assert "this update is skipped (3 in all; training.max_skipped_updates=3 in a row stop the run)" in said[1]


def test_too_many_in_a_row_stop_the_run_and_keep_the_sentences(tmp_path: Path) -> None:
    watching = guard(tmp_path)
    watching.watch(8, broken_step())
    watching.watch(9, broken_step())
    last = step_result([3, 12, 4], [5, 4, 2], [float("nan"), 2.5, float("inf")], float("nan"), False, batches=2)
    with pytest.raises(RunError) as raised:
        watching.watch(10, last)
    message = str(raised.value)
    assert "3 updates in a row (steps 8 to 10)" in message
    assert str(tmp_path / STOPPED_BATCH) in message
    for hint in ("training.learning_rate", "training.warmup_steps", "training.precision=float32", "run.directory"):
        assert hint in message
    about = json.loads((tmp_path / STOPPED_BATCH / "step.json").read_text(encoding="utf-8"))
    assert (about["step"], about["seed"], about["skipped_in_a_row"], about["gradient_norm"]) == (10, 11, 3, "nan")
    assert [batch["sentences"] for batch in about["batches"]] == [
        [
            {"pair": 3, "corpus_source": "mizan", "line_in_train": 4, "loss": "nan"},
            {"pair": 12, "corpus_source": "tep", "line_in_train": 3, "loss": "2.5"},
        ],
        [{"pair": 4, "corpus_source": "mizan", "line_in_train": 5, "loss": "inf"}],
    ]
    ids = load_file(tmp_path / STOPPED_BATCH / "ids.safetensors")
    for number, batch in enumerate(last.batches):
        assert ids[f"{number}.source"].tolist() == batch.source.tolist()
        assert ids[f"{number}.labels"].tolist() == batch.labels.tolist()


def test_a_good_step_between_them_lets_the_run_go_on(tmp_path: Path) -> None:
    watching = guard(tmp_path, max_skipped=2)
    for step in range(1, 20, 2):
        watching.watch(step, broken_step())
        watching.watch(step + 1, step_result([0], [3], [2.0]))
    assert watching.state_dict() == {"skipped": 10, "in_a_row": 0}


def test_a_resumed_run_goes_on_counting(tmp_path: Path) -> None:
    first, second = guard(tmp_path), guard(tmp_path)
    first.watch(1, broken_step())
    first.watch(2, broken_step())
    second.restore(json.loads(json.dumps(first.state_dict())))
    with pytest.raises(RunError, match=r"steps 1 to 3"):
        second.watch(3, broken_step())


def test_the_first_rank_writes_what_all_of_them_had(tmp_path: Path) -> None:
    theirs = {"sentences": [{"pair": 14}], "source": [[7, 3]], "labels": [[8, 3]]}
    watching = guard(tmp_path, max_skipped=1, ranks=TwoRanks(0, json.dumps([theirs])))
    with pytest.raises(RunError, match="1 updates in a row"):
        watching.watch(1, broken_step(2))
    about = json.loads((tmp_path / STOPPED_BATCH / "step.json").read_text(encoding="utf-8"))
    assert [batch["sentences"][0]["pair"] for batch in about["batches"]] == [2, 14]
    assert load_file(tmp_path / STOPPED_BATCH / "ids.safetensors")["1.labels"].tolist() == [[8, 3]]


def test_the_others_stop_too_and_write_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    watching = guard(tmp_path, max_skipped=1, ranks=TwoRanks(1))
    with pytest.raises(RunError, match="stopped-batch"):
        watching.watch(1, broken_step())
    assert list(tmp_path.iterdir()) == []
    assert not caplog.records
