"""scores.json keeps what was measured before, and takes the newest measurement of a setting."""

import dataclasses
import json
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from translator.errors import RunError
from translator.evaluation.metrics import Score
from translator.evaluation.outcome import add_slices
from translator.evaluation.score_file import add_scores, saved_scores, scores_file
from translator.evaluation.slices import Slice
from translator.lock import exclusive
from translator.run_folder import RunFolder
from translator.storage import write_json

FIRST = Score(test_set="mizan", metric="bleu", score=1.0, signature="s", normalization="raw", search="greedy",
              checkpoint="step-000005", sentences=3)  # fmt: skip


def test_no_file_no_scores(tmp_path: Path) -> None:
    assert saved_scores(RunFolder(tmp_path)) == []


def test_newest_first_others_kept_the_same_setting_replaced(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    chrf = dataclasses.replace(FIRST, metric="chrf", score=2.0)
    beam = dataclasses.replace(FIRST, search="beam-5", score=3.0)
    add_scores(run.evaluation_folder, [FIRST, chrf])
    assert add_scores(run.evaluation_folder, [beam]) == [beam, FIRST, chrf]
    again = dataclasses.replace(FIRST, score=9.0)
    assert add_scores(run.evaluation_folder, [again]) == [again, beam, chrf]
    assert saved_scores(run) == [again, beam, chrf]
    entries = json.loads(scores_file(run.evaluation_folder).read_text(encoding="utf-8"))
    assert entries[0] == again.to_json()


def test_scores_on_other_text_stand_behind(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    other = dataclasses.replace(FIRST, test_set="flores", score=3.0)
    add_scores(run.evaluation_folder, [FIRST])
    assert add_scores(run.evaluation_folder, [other], first=False) == [FIRST, other]
    assert add_scores(run.evaluation_folder, [FIRST]) == [FIRST, other]


def test_intervals_are_kept_and_files_from_before_them_are_read(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    with_interval = dataclasses.replace(FIRST, metric="chrf", interval=(0.5, 1.5))
    add_scores(run.evaluation_folder, [FIRST, with_interval])
    assert saved_scores(run) == [FIRST, with_interval]
    entries = json.loads(scores_file(run.evaluation_folder).read_text(encoding="utf-8"))
    assert "interval" not in entries[0]
    assert entries[1]["interval"] == [0.5, 1.5]


@pytest.mark.parametrize("content", ["", "[", "{}", "[1]", '[{"metric": "bleu"}]', '[{"metric": "ter"}]', "\xff"])
def test_a_damaged_file_is_named_and_left_alone(tmp_path: Path, content: str) -> None:
    run = RunFolder(tmp_path)
    scores_file(run.evaluation_folder).parent.mkdir()
    scores_file(run.evaluation_folder).write_bytes(content.encode("latin-1"))
    with pytest.raises(RunError, match=r"scores\.json is damaged \(.*\); delete it and evaluate again"):
        add_scores(run.evaluation_folder, [FIRST])
    assert scores_file(run.evaluation_folder).read_bytes() == content.encode("latin-1")


def test_a_second_writer_waits_for_the_first(tmp_path: Path) -> None:
    """What one has read must not be written over by another before it is written back."""
    other = dataclasses.replace(FIRST, test_set="flores")
    part = Slice("mizan", "step-000005", "greedy", "length", "short", 3, {"bleu": 1.0})
    with ThreadPoolExecutor() as pool:
        with exclusive(tmp_path) as free:
            assert free
            scores = pool.submit(add_scores, tmp_path, [other])
            slices = pool.submit(add_slices, tmp_path, [part])
            assert not wait((scores,), timeout=0.2).done and not slices.done()
            write_json(scores_file(tmp_path), [FIRST.to_json()])
        assert scores.result() == [other, FIRST]
        slices.result()
    assert json.loads((tmp_path / "slices.json").read_text(encoding="utf-8")) == [part.to_json()]


def test_a_folder_that_is_never_given_back_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translator.evaluation.score_file._TRIES", 2)
    with exclusive(tmp_path), pytest.raises(RunError, match=r"has .* to itself"):
        add_scores(tmp_path, [FIRST])
    assert not scores_file(tmp_path).exists()
