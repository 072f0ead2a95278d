"""PO and MO as corpora: pairs of messages, without the marks of their keys; what is unfinished is counted."""

from pathlib import Path

import pytest

from translator.config import SourceConfig
from translator.corpus.reading.lines import Pair
from translator.corpus.reading.messages import without_accelerator
from translator.corpus.reading.pairs import read_pairs
from translator.errors import CorpusError

INPUTS = Path("../shared/inputs")
HEADER = 'msgid ""\nmsgstr ""\n"Language: fa\\n"\n"Content-Type: text/plain; charset={charset}\\n"\n'
DOOR = '\nmsgid "The _door is open"\nmsgstr "در باز است"\n'


def pairs_of(path: Path) -> list[Pair]:
    return list(read_pairs(SourceConfig(name="messages", path=str(path))))


def written(folder: Path, text: str, charset: str = "UTF-8") -> Path:
    file = folder / "app.po"
    file.write_bytes((HEADER.format(charset=charset) + text).encode(charset))
    return file


@pytest.mark.parametrize(
    ("text", "other", "plain"),
    [
        ("_Open the gate", "_باز کردن", "Open the gate"),
        ("E_xit", "_خروج", "Exit"),
        ("Save recipe &as…", "ذخیره &به نام…", "Save recipe as…"),
        ("ذخیره &به نام…", "Save recipe &as…", "ذخیره به نام…"),
        ("بستن (_C)", "_Close", "بستن"),
        ("بستن (&C)...", "&Close...", "بستن..."),
        ("~File", "~پرونده", "File"),
        ("Salt & pepper", "نمک و فلفل", "Salt & pepper"),
        ("my_house is taken", "نام my_house", "my_house is taken"),
        ("A&M and R&D", "A&M و R&D", "A&M and R&D"),
        ("escape it as &amp;", "به شکل &amp;", "escape it as &amp;"),
    ],
)
def test_the_mark_of_a_key_goes_and_names_stay(text: str, other: str, plain: str) -> None:
    assert without_accelerator(text, other) == plain


@pytest.mark.skipif(not INPUTS.exists(), reason="needs ../shared/inputs")
def test_po_and_mo_give_the_same_pairs() -> None:
    po = pairs_of(INPUTS / "ui.po")
    mo = pairs_of(INPUTS / "ui.mo")
    finished = {(pair.source, pair.target) for pair in po if pair.defect is None}
    assert {(pair.source, pair.target) for pair in mo} == finished
    assert len(mo) == len(finished) == 18
    assert sorted(pair.defect for pair in po if pair.defect) == [
        *["fuzzy_message"] * 2,
        *["obsolete_message"] * 2,
        *["untranslated_message"] * 3,
    ]
    assert ("%d letters are in the box", "%d نامه در صندوق هستند") in finished
    assert {target for source, target in finished if source == "Light"} == {"روشنایی", "سبک"}


@pytest.mark.parametrize("charset", ["UTF-8", "windows-1256"])
def test_the_encoding_is_that_of_the_header(charset: str, tmp_path: Path) -> None:
    (pair,) = pairs_of(written(tmp_path, DOOR, charset))
    assert (pair.source, pair.target) == ("The door is open", "در باز است")


def test_a_byte_order_mark_and_line_ends_of_windows_change_nothing(tmp_path: Path) -> None:
    file = written(tmp_path, DOOR)
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    (pair,) = pairs_of(file)
    assert pair.target == "در باز است"


def test_a_folder_of_catalogues_is_read_though_some_have_no_messages(tmp_path: Path) -> None:
    written(tmp_path, DOOR)
    (tmp_path / "empty.po").write_text(HEADER.format(charset="UTF-8"), encoding="utf-8")
    assert len(pairs_of(tmp_path)) == 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("app.po", DOOR.encode(), "has no header"),
        ("app.po", HEADER.format(charset="UTF-8").replace("fa", "de").encode() + DOOR.encode(), "`Language: de`"),
        ("app.po", HEADER.format(charset="UTF-8").encode() + b'\nmsgid "a\nmsgstr\n', "is damaged"),
        ("app.mo", b"\xde\x12\x04\x95\0\0", "is damaged"),
    ],
)
def test_a_file_that_is_no_persian_catalogue_is_refused(
    name: str, content: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CorpusError, match=message):
        pairs_of(tmp_path / name)
