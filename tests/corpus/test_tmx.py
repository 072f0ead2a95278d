"""TMX files: pairs of units, plain text from codes and entities, and damage that costs only one unit."""

import gzip
import re
from pathlib import Path
from unittest import mock

import pytest

from tests.support.corpora import complaint, folder_of, one_file
from translator.corpus.reading.lines import Pair
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


def test_tmx_pairs_are_read_in_either_language_order(tmp_path: Path) -> None:
    expected = [
        Pair(4, "Press Save & close.", "ذخیره کنید."),
        Pair(8, "Alone.", "", "missing_language"),
        Pair(9, "Two.", "دو."),
    ]
    # Plain and packed.
    for name, content in (("m.tmx", TMX.encode()), ("m.tmx.gz", gzip.compress(TMX.encode()))):
        assert list(read_pairs(one_file(tmp_path / name, content))) == expected

    # In the encoding that its first line declares.
    utf16 = TMX.replace("UTF-8", "UTF-16").encode("utf-16")
    assert list(read_pairs(folder_of(tmp_path / "folder", {"m.tmx": utf16}))) == expected
    arabic = TMX.replace("UTF-8", "windows-1256").replace("ی", "ي").encode("windows-1256")
    arabic_pairs = list(read_pairs(one_file(tmp_path / "m.tmx", arabic)))
    assert arabic_pairs[2] == expected[2]


def test_a_unit_in_a_comment_of_a_tmx_is_not_read(tmp_path: Path) -> None:
    commented = TMX.replace("<tu><tuv xml:lang", "<!-- <tu>\n</tu> --><tu><tuv xml:lang")
    pairs = read_pairs(one_file(tmp_path / "m.tmx", commented.encode()))
    assert [pair.line for pair in pairs] == [4, 9, 10]


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


def test_the_start_of_a_comment_in_a_segment_is_text(tmp_path: Path) -> None:
    written = TMX.replace("Alone.", "<![CDATA[<!-- x]]>")
    pairs = list(read_pairs(one_file(tmp_path / "m.tmx", written.encode())))
    assert [pair.source for pair in pairs] == ["Press Save & close.", "<!-- x", "Two."]


def test_a_tmx_that_is_truncated_or_of_an_unknown_encoding_is_refused(tmp_path: Path) -> None:
    for document in (TMX[:300], TMX.replace("UTF-8", "nosuch"), TMX.replace("UTF-8", "rot13")):
        assert "not valid XML" in complaint(one_file(tmp_path / "m.tmx", document.encode()))


def test_an_entity_that_a_tmx_declares_is_not_expanded(tmp_path: Path) -> None:
    bomb = TMX.replace('SYSTEM "tmx14.dtd"', '[<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]').replace("Alone", "&b;")
    pairs = list(read_pairs(one_file(tmp_path / "m.tmx", bomb.encode())))
    assert [pair.defect for pair in pairs] == [None, "bad_row", None]


def test_a_unit_without_its_end_costs_only_itself(tmp_path: Path) -> None:
    for place in (0, 2):
        starts = [match.start() for match in re.finditer("</tu>", TMX)]
        cut = TMX[: starts[place]] + TMX[starts[place] + len("</tu>") :]
        pairs = list(read_pairs(one_file(tmp_path / "m.tmx", cut.encode())))
        assert [pair.line for pair in pairs] == [4, 8, 9]
        assert pairs[place].defect == "bad_row"
        assert pairs[2 - place].source in ("Press Save & close.", "Two.")


def test_an_element_of_another_program_in_a_unit_is_no_damage(tmp_path: Path) -> None:
    extended = TMX.replace("<note>first</note>", "<x:note x:by='me'>first</x:note>")
    pairs = list(read_pairs(one_file(tmp_path / "m.tmx", extended.encode())))
    assert pairs[0] == Pair(4, "Press Save & close.", "ذخیره کنید.")


def test_a_tmx_without_persian_is_refused_with_its_languages(tmp_path: Path) -> None:
    german = TMX.replace("fa", "de")
    message = complaint(one_file(tmp_path / "m.tmx", german.encode()))
    assert "its languages: EN-us, de, de_IR, en" in message


def segments_of(english: str, persian: str, folder: Path) -> tuple[str, str]:
    """Return the texts of a unit whose segments are these pieces of XML."""
    unit = f'<tu><tuv xml:lang="EN-US"><seg>{english}</seg></tuv><tuv xml:lang="fa"><seg>{persian}</seg></tuv></tu>'
    document = f"<tmx><body>{unit}</body></tmx>"
    (pair,) = read_pairs(one_file(folder / "m.tmx", document.encode()))
    return pair.source, pair.target


@pytest.mark.parametrize(
    ("english", "text"),
    [
        ("One<ph>&lt;br/&gt;</ph>two", "One two"),
        ("One.<it pos='begin'>x</it><ut>y</ut>Two", "One. Two"),
        ("See <bpt i='1'>(</bpt>page 2<ept i='1'>)</ept>.", "See page 2."),
        ("A<ph>x<sub>title</sub></ph> <hi>b</hi>c", "A bc"),
        ("two\n    lines\r\nand\tmore ", "two lines and more"),
        ("a&nbsp;b &lt;c&gt; &amp;amp; d&eacute;j&agrave;", "a b <c> &amp; déjà"),
        ("<![CDATA[a <b> c]]>", "a <b> c"),
    ],
)
def test_codes_entities_and_line_ends_in_a_segment_become_plain_text(english: str, text: str, tmp_path: Path) -> None:
    assert segments_of(english, "می&zwnj;خواهم", tmp_path) == (text, "می\u200cخواهم")


@pytest.mark.parametrize(
    ("bad", "rule"),
    [
        (b"<tu><tuv xml:lang='en'><seg>Two &#x1F; signs</seg></tuv></tu>", "bad_row"),
        (b"<tu><tuv xml:lang='en'><seg>\x0c</seg></tuv></tu>", "bad_row"),
        (b"<tu><tuv><seg>no end</tu>", "bad_row"),
        (b"<tu><tuv><seg>&nosuch;</seg></tuv></tu>", "bad_row"),
        (b"<tu><tuv xml:lang='en'><seg>a < b & c</seg></tuv></tu>", "bad_row"),
        (b"<tu><tuv><seg>caf\xe9</seg></tuv></tu>", "invalid_utf8"),
    ],
)
def test_a_unit_that_is_not_well_formed_costs_only_itself(bad: bytes, rule: str, tmp_path: Path) -> None:
    content = TMX.encode().replace(b"<tu><tuv lang", bad + b"\n<tu><tuv lang")
    source = one_file(tmp_path / "m.tmx", content, invalid_utf8="drop")
    for block in (5, 100, 1 << 17):
        with mock.patch("translator.corpus.reading.packing.BLOCK", block):
            defects = [(pair.line, pair.defect) for pair in read_pairs(source)]
        assert defects == [(4, None), (8, "missing_language"), (9, rule), (10, None)]
