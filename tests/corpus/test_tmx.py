"""TMX files: pairs of units, plain text from codes and entities, and damage that costs only one unit."""

from pathlib import Path
from unittest import mock

import pytest

from tests.support.corpora import complaint, one_file
from translator.corpus.reading.pairs import read_pairs

TMX = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en" datatype="plaintext"/><body>
<tu><note>first</note>
 <tuv xml:lang="EN-us"><seg>Press <bpt>&lt;b&gt;</bpt>Save<ept>&lt;/b&gt;</ept> &amp; <hi>close</hi>.</seg></tuv>
 <tuv xml:lang="fa_IR"><prop>x</prop><seg>ذخیره
کنید.</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>Alone.</seg></tuv><tuv xml:lang="de"><seg>Allein.</seg></tuv></tu>
<tu><tuv lang="fa"><seg>دو.</seg></tuv><tuv lang="en"><seg>Two.</seg></tuv></tu>
</body></tmx>"""


@pytest.mark.parametrize("block", [1, 2, 3, 7, 50])
def test_the_size_of_blocks_changes_nothing(block: int, tmp_path: Path) -> None:
    commented = TMX.replace("<note>", "<!-- a\n</tu> --><note>").replace(
        "<tu><tuv lang", "<!-- <tu>\n</tu>\n--><tu><tuv lang"
    )
    source = one_file(tmp_path / "m.tmx", commented.encode())
    expected = list(read_pairs(source))
    with mock.patch("translator.corpus.reading.packing.BLOCK", block):
        assert list(read_pairs(source)) == expected
    assert [(pair.line, pair.defect) for pair in expected if pair.source == "Two."] == [(12, None)]


def test_units_in_a_long_comment_of_a_tmx_are_not_read(tmp_path: Path) -> None:
    unit = TMX[TMX.index("<tu><tuv lang") : TMX.index("</body>")]
    commented = TMX.replace("<tu><note>", f"<!-- {unit * 3000}--><tu><note>")
    pairs = read_pairs(one_file(tmp_path / "m.tmx", commented.encode()))
    assert [pair.line for pair in pairs] == [3004, 3008, 3009]


def test_a_unit_that_is_not_utf8_is_refused_or_dropped(tmp_path: Path) -> None:
    unit = b"<tu><tuv><seg>caf\xe9</seg></tuv></tu>"
    content = TMX.encode().replace(b"<tu><tuv lang", unit + b"\n<tu><tuv lang")
    assert "m.tmx, line 9: the unit is not UTF-8; it may be" in complaint(one_file(tmp_path / "m.tmx", content))
    source = one_file(tmp_path / "m.tmx", content, invalid_utf8="drop")
    defects = [(pair.line, pair.defect) for pair in read_pairs(source)]
    assert defects == [(4, None), (8, "missing_language"), (9, "invalid_utf8"), (10, None)]


def test_a_tmx_in_utf16_is_read(tmp_path: Path) -> None:
    utf16 = TMX.replace("UTF-8", "UTF-16").encode("utf-16")
    pairs = list(read_pairs(one_file(tmp_path / "m.tmx", utf16)))
    assert pairs == list(read_pairs(one_file(tmp_path / "m.tmx", TMX.encode())))
