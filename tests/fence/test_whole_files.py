"""Translate files whose texts stand among what must stay: subtitles."""

from pathlib import Path

import pytest

from tests.fence.small_language import question, seen, statement
from tests.support.command_line import Finished, translator

INPUTS = Path("../shared/inputs").resolve()
ROAD, ROAD_FA = question("road", "new")
TABLE, TABLE_FA = seen("table", "clean")
BOOK, BOOK_FA = statement("book", "old")
FILM = f"""1
00:00:02,830 --> 00:00:05,560 X1:40
<i>{BOOK}</i>

2
00:00:06,000 --> 00:00:07,000
I see the

3
00:00:07,000 --> 00:00:08,000
clean table.

10
00:01:05,700 --> 00:01:06,360
- {ROAD}
- {TABLE}
"""
FILM_FA = f"""1
00:00:02,830 --> 00:00:05,560 X1:40
<i>{BOOK_FA}</i>

2
00:00:06,000 --> 00:00:07,000
میز تمیز

3
00:00:07,000 --> 00:00:08,000
را می‌بینم.

10
00:01:05,700 --> 00:01:06,360
- {ROAD_FA}
- {TABLE_FA}
"""


def translated(run: Path, source: Path, *options: str | Path) -> Finished:
    return translator("translate", "--run", run, "--input", source, *options)


def refused(run: Path, source: Path, *options: str) -> str:
    """Return the one message with which a file is refused; nothing is written."""
    output = source.parent / "out"
    result = translated(run, source, "--output", output, *options)
    assert (result.code, result.out) == (2, "")
    assert len(result.err.splitlines()) == 1
    assert not output.exists()
    return result.err


# --- subtitles ---


def test_subtitles_keep_times_numbers_and_speakers(small_run: Path, tmp_path: Path) -> None:
    source = tmp_path / "film.srt"
    source.write_text(FILM, encoding="utf-8")
    result = translated(small_run, source, "--output", tmp_path / "film.fa.srt")
    assert (result.code, result.out) == (0, "")
    assert (tmp_path / "film.fa.srt").read_text(encoding="utf-8") == FILM_FA
    assert translated(small_run, source).out == FILM_FA


def test_webvtt_keeps_its_header_settings_and_notes(small_run: Path, tmp_path: Path) -> None:
    frame = "WEBVTT\n\nNOTE {0}\n\n00:02.830 --> 00:05.560 line:0\n<v Ada>{1}\n"
    (tmp_path / "film.vtt").write_text(frame.format(BOOK, BOOK), encoding="utf-8")
    assert translated(small_run, tmp_path / "film.vtt").out == frame.format(BOOK, BOOK_FA)


@pytest.mark.skipif(not INPUTS.exists(), reason="needs ../shared/inputs")
def test_a_film_as_people_have_it_keeps_every_time_line(small_run: Path) -> None:
    source = (INPUTS / "film.srt").read_text(encoding="utf-8").splitlines()
    lines = translated(small_run, INPUTS / "film.srt").lines
    assert len(lines) == len(source)
    assert [line for line in lines if "-->" in line or line.isdigit()] == [
        line for line in source if "-->" in line or line.isdigit()
    ]
    assert [line[:2] for line in lines[-2:]] == ["- ", "- "]


def test_a_broken_cue_is_refused_with_its_line(small_run: Path, tmp_path: Path) -> None:
    source = tmp_path / "film.srt"
    source.write_text(FILM.replace("00:00:07,000 -->", "00:00:77,000 -->"), encoding="utf-8")
    assert f"{source}, line 10: " in refused(small_run, source)


@pytest.mark.parametrize(
    "options", [["--format", "jsonl"], ["--n-best", "2"], ["--column", "1"], ["--paragraphs"], ["--prefix", "کتاب"]]
)
def test_what_belongs_to_lines_is_refused(options: list[str], small_run: Path, tmp_path: Path) -> None:
    source = tmp_path / "film.srt"
    source.write_text(FILM, encoding="utf-8")
    assert "translated as a whole" in refused(small_run, source, *options)


def test_a_missing_file_and_the_input_as_output_are_refused(small_run: Path, tmp_path: Path) -> None:
    source = tmp_path / "film.srt"
    assert "it does not exist" in refused(small_run, source)
    source.write_text(FILM, encoding="utf-8")
    result = translated(small_run, source, "--output", source)
    assert result.code == 2
    assert "is the input itself" in result.err
    assert source.read_text(encoding="utf-8") == FILM
