"""Translate files whose texts stand among what must stay: subtitles and messages of programs."""

import shutil
import subprocess
from pathlib import Path

import polib
import pytest

from tests.fence.small_language import question, seen, statement
from tests.support.command_line import succeed

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


def write(file: Path, content: str) -> Path:
    file.write_text(content, encoding="utf-8")
    return file


# --- subtitles ---


@pytest.fixture
def film(tmp_path: Path) -> Path:
    """A file of subtitles."""
    return write(tmp_path / "film.srt", FILM)


def test_subtitles_keep_times_numbers_and_speakers(small_run: Path, film: Path) -> None:
    command = ("translate", "--run", small_run, "--input", film)
    assert succeed(*command, "--output", film.with_name("film.fa.srt")).out == ""
    assert film.with_name("film.fa.srt").read_text(encoding="utf-8") == FILM_FA
    assert succeed(*command).out == FILM_FA


def test_webvtt_keeps_its_header_settings_and_notes(small_run: Path, tmp_path: Path) -> None:
    frame = "WEBVTT\n\nNOTE {0}\n\n00:02.830 --> 00:05.560 line:0\n<v Ada>{1}\n"
    film = write(tmp_path / "film.vtt", frame.format(BOOK, BOOK))
    assert succeed("translate", "--run", small_run, "--input", film).out == frame.format(BOOK, BOOK_FA)


# --- messages of programs ---

HEADER = """# made up
msgid ""
msgstr ""
"Project-Id-Version: doorbell 1.2\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"""
TEMPLATE = f"""
#, c-format
msgid "There are %d books in the room."
msgid_plural "There are %d books in the room."
msgstr[0] ""
msgstr[1] ""

msgctxt "menu"
msgid "{BOOK[:4]}_{BOOK[4:]}"
msgstr ""

msgid "\\n{ROAD}\\n{TABLE}\\n"
msgstr ""

msgid "{TABLE}"
msgstr "میز"

#, fuzzy
msgid "{ROAD}"
msgstr "راه"

msgid "&lt;b&gt; {BOOK}"
msgstr ""

#, c-format
msgid "%dMB, %d%% of the books: {"%s, " * 20}"
msgstr ""

#, c-format
msgid "There are %d%% books in the room."
msgstr ""

#~ msgid "gone"
#~ msgstr "رفته"
"""


def test_untranslated_messages_are_filled_and_marked_fuzzy(small_run: Path, tmp_path: Path) -> None:
    source = write(tmp_path / "app.po", HEADER + TEMPLATE)
    result = succeed("translate", "--run", small_run, "--input", source, "--output", tmp_path / "fa.po")
    assert result.out == ""
    assert "5 messages are filled and marked fuzzy, 1 are left" in result.err

    file = polib.pofile(str(tmp_path / "fa.po"))
    assert file.metadata["Language"] == "fa"
    assert file.metadata["Project-Id-Version"] == "doorbell 1.2"
    counted, menu, lines, table, road, entity, many, percent, gone = file
    assert [form.count("%d") for form in counted.msgstr_plural.values()] == [1, 1]
    assert menu.msgstr == BOOK_FA[:-1] + " (_B)."
    assert lines.msgstr == f"\n{ROAD_FA}\n{TABLE_FA}\n"
    assert [entry.fuzzy for entry in file] == [True, True, True, False, True, True, False, True, False]
    assert (table.msgstr, road.msgstr, many.msgstr, gone.msgstr) == ("میز", "راه", "", "رفته")
    assert (entity.msgstr.count("&lt;b&gt;"), entity.msgstr.count("کتاب")) == (1, 1)
    assert (percent.msgstr.count("%d%%"), percent.msgstr.count("%d")) == (1, 1)
    assert gone.obsolete

    if shutil.which("msgfmt"):
        for entry in file:
            entry.flags = [flag for flag in entry.flags if flag != "fuzzy"]
        file.save(str(tmp_path / "checked.po"))
        subprocess.run(["msgfmt", "-c", "-o", "/dev/null", str(tmp_path / "checked.po")], check=True)


def test_the_header_says_how_many_plural_forms_are_filled(small_run: Path, tmp_path: Path) -> None:
    source = write(tmp_path / "app.pot", HEADER + '"Plural-Forms: nplurals=1; plural=0;\\n"\n' + TEMPLATE)
    succeed("translate", "--run", small_run, "--input", source, "--output", tmp_path / "fa.po")
    assert list(polib.pofile(str(tmp_path / "fa.po"))[0].msgstr_plural) == [0]
