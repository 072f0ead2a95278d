"""Locale, clock, home directory."""

from pathlib import Path

import pytest

from translator.doctor.surroundings import clock, home, text_encoding

DAY = 24 * 3600.0


@pytest.mark.parametrize(
    ("encoding", "verdict"), [("utf-8", "ok"), ("UTF8", "ok"), ("ascii", "note"), ("latin-1", "note")]
)
def test_text(encoding: str, verdict: str) -> None:
    assert text_encoding(encoding).verdict == verdict


def test_a_clock_that_runs_after_the_files_is_told() -> None:
    assert clock(now=1000 * DAY, newest=999 * DAY).verdict == "ok"
    assert clock(now=1000 * DAY, newest=1000.5 * DAY).verdict == "ok"
    finding = clock(now=0.0, newest=1000 * DAY)
    assert (finding.verdict, finding.found) == ("note", "1970-01-01 00:00:00+00:00")
    assert "from 1972-09-27" in finding.advice


def test_home(tmp_path: Path) -> None:
    assert home(str(tmp_path)).verdict == "ok"
    assert home(None).verdict == "note"
    assert home(str(tmp_path / "gone")).verdict == "note"
