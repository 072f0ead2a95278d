"""scores.json keeps what was measured before, and takes the newest measurement of a setting."""

import dataclasses
import json
from pathlib import Path

import pytest

from translator.errors import RunError
from translator.evaluation.metrics import Score
from translator.evaluation.score_file import add_scores, saved_scores, scores_file
from translator.run_folder import RunFolder

FIRST = Score(test_set="mizan", metric="bleu", score=1.0, signature="s", normalization="raw", search="greedy",
              checkpoint="step-000005", sentences=3)  # fmt: skip


def test_no_file_no_scores(tmp_path: Path) -> None:
    assert saved_scores(RunFolder(tmp_path)) == []


def test_newest_first_others_kept_the_same_setting_replaced(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    chrf = dataclasses.replace(FIRST, metric="chrf", score=2.0)
    beam = dataclasses.replace(FIRST, search="beam-5", score=3.0)
    add_scores(run, [FIRST, chrf])
    assert add_scores(run, [beam]) == [beam, FIRST, chrf]
    again = dataclasses.replace(FIRST, score=9.0)
    assert add_scores(run, [again]) == [again, beam, chrf]
    assert saved_scores(run) == [again, beam, chrf]
    entries = json.loads(scores_file(run).read_text(encoding="utf-8"))
    assert entries[0] == dataclasses.asdict(again)


@pytest.mark.parametrize("content", ["", "[", "{}", "[1]", '[{"metric": "bleu"}]', '[{"metric": "ter"}]', "\xff"])
def test_a_damaged_file_is_named_and_left_alone(tmp_path: Path, content: str) -> None:
    run = RunFolder(tmp_path)
    scores_file(run).parent.mkdir()
    scores_file(run).write_bytes(content.encode("latin-1"))
    with pytest.raises(RunError, match=r"scores\.json is damaged \(.*\); delete it and evaluate again"):
        add_scores(run, [FIRST])
    assert scores_file(run).read_bytes() == content.encode("latin-1")
