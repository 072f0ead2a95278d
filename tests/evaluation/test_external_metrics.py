"""Metrics of other programs: their scores are saved, and their failures are reported in one message."""

import shlex
import sys
from pathlib import Path

import pytest

from translator.config import ExternalMetric
from translator.errors import InputError
from translator.evaluation.external_metrics import external_score

PROGRAM = """import sys
sides = [open(file, encoding="utf-8").read().splitlines() for file in sys.argv[1:]]
for source, hypothesis, reference in zip(*sides):
    print(len(source) / 10 if hypothesis == reference else 0.0)
"""


def command(folder: Path, program: str = PROGRAM) -> str:
    script = folder / "judge.py"
    script.write_text(program, encoding="utf-8")
    return f"{shlex.join([sys.executable, str(script)])} {{source}} {{hypothesis}} {{reference}}"


def test_a_program_gets_a_line_for_each_sentence_and_its_mean_is_the_score(tmp_path: Path) -> None:
    metric = ExternalMetric(name="judge", command=command(tmp_path))
    score = external_score(metric, ["abcd", "a\nb"], ["یک", "دو"], [("یک", "۱"), ("سه",)])
    assert score.metric == "judge"
    assert score.score == pytest.approx(0.2)
    assert score.sentences == 2
    assert score.interval is not None
    assert score.interval[0] <= score.score <= score.interval[1]


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import sys; sys.exit('no such layer')", ".* exit status 1. no such layer"),
        ("print(0.5)", "1 lines for 2 sentences"),
        ("print('fine'); print('good')", "could not convert string to float: 'fine'"),
        (None, "No such file or directory: 'no-such-program'"),
    ],
)
def test_a_program_that_gives_no_scores_is_reported(tmp_path: Path, program: str | None, reason: str) -> None:
    typed = "no-such-program {source}" if program is None else command(tmp_path, program)
    with pytest.raises(InputError, match=f"the metric `judge` has no scores: .*{reason}"):
        external_score(ExternalMetric(name="judge", command=typed), ["a", "b"], ["آ", "ب"], [("آ",), ("ب",)])
