"""Reading pairs in place, from every layout, with every defect told by file and line."""

import itertools
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from corpus.sources.corpora import (
    ENGLISH,
    PACKERS,
    PAIRS,
    PERSIAN,
    TABLE,
    complaint,
    folder_of,
    one_file,
    two_files,
    zip_file,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.config import SourceConfig
from translator.corpus.sources import Pair, read_pairs, source_files
from translator.errors import StorageError

DATA = Path("../shared/data")


@pytest.mark.parametrize("suffix", list(PACKERS))
def test_two_files_and_tables(tmp_path: Path, suffix: str) -> None:
    pack = PACKERS[suffix]
    assert list(read_pairs(two_files(tmp_path, pack(ENGLISH), pack(PERSIAN), suffix))) == PAIRS
    assert list(read_pairs(one_file(tmp_path / f"text.tsv{suffix}", pack(TABLE)))) == PAIRS


def test_max_pairs_reads_only_the_beginning(tmp_path: Path) -> None:
    source = two_files(tmp_path, ENGLISH + b"\xff\n")
    for most in (1, 2, 3):
        assert list(read_pairs(source.model_copy(update={"max_pairs": most}))) == PAIRS[:most]


def test_byte_order_marks_and_carriage_returns_are_no_text(tmp_path: Path) -> None:
    source = two_files(tmp_path, b"\xef\xbb\xbfOne.\r\nTwo.\r\n\xef\xbb\xbfThree.", PERSIAN)
    assert list(read_pairs(source)) == PAIRS


def test_only_newlines_end_a_line(tmp_path: Path) -> None:
    odd = "a\u2028b\u0085c\x0bd\x0ce\x1cf\rg"
    source = two_files(tmp_path, f"{odd}\nx\r\r\n".encode(), "یک\nدو".encode())
    assert [pair.source for pair in read_pairs(source)] == [odd, "x\r"]


LINE = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])).map(
    lambda text: text.lstrip("\ufeff").removesuffix("\r")
)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(LINE, LINE), max_size=20),
    st.sampled_from(list(PACKERS)),
    st.sampled_from(list(PACKERS)),
    st.sampled_from(["\n", "\r\n"]),
)
def test_any_text_survives_in_any_layout(rows: list[tuple[str, str]], one: str, other: str, end: str) -> None:
    rows = [("English.", "فارسی."), *rows]
    english, persian = ("".join(f"{text}{end}" for text in side).encode() for side in zip(*rows, strict=True))
    expected = [Pair(*row) for row in zip(itertools.count(1), *zip(*rows, strict=True), strict=False)]
    packed = {f"X.en{one}": PACKERS[one](english), f"X.fa{other}": PACKERS[other](persian)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        assert list(read_pairs(folder_of(folder, packed))) == expected
        assert list(read_pairs(two_files(folder, PACKERS[one](english), PACKERS[other](persian)))) == expected
        assert list(read_pairs(zip_file(folder / "x.zip", {"en": english, "fa": persian}))) == expected
        if not any("\t" in text for row in rows for text in row):
            table = "".join(f"{source}\t{target}{end}" for source, target in rows).encode()
            assert list(read_pairs(one_file(folder / "x", PACKERS[one](table)))) == expected


@pytest.mark.parametrize(("english", "persian", "counts"), [(5, 3, ("5", "3")), (3, 1200, ("3", "1,200"))])
def test_sides_of_different_length(tmp_path: Path, english: int, persian: int, counts: tuple[str, str]) -> None:
    message = complaint(two_files(tmp_path, b"x\n" * english, b"y\n" * persian))
    assert f"text.en has {counts[0]} lines" in message
    assert f"text.fa has {counts[1]};" in message
    assert "`text`" in message


@pytest.mark.parametrize("layout", ["files", "zip", "folder"])
def test_first_suspicious_line(tmp_path: Path, layout: str) -> None:
    numbers = range(1, 6001)
    english = "".join(f"{number} {'word ' * (number * 7 % 31)}\n" for number in numbers).encode()
    persian = "".join(f"{number} {'واژه ' * (number * 7 % 31)}\n" for number in numbers if number != 1234).encode()
    if layout == "files":
        source = two_files(tmp_path, english, persian)
    elif layout == "zip":
        source = zip_file(tmp_path / "x.zip", {"en.txt": english, "fa.txt": persian})
    else:
        source = folder_of(tmp_path, {"en.txt.xz": PACKERS[".xz"](english), "fa.txt": persian})
    message = complaint(source)
    assert " has 6,000 lines, " in message
    assert " has 5,999; " in message
    assert "First suspicious line: about 1,234 (a guess), English: 1234 word word" in message
    shown_english, _, shown_persian = message.partition(", English: ")[2].partition("; Persian: ")
    assert shown_persian.startswith("1235 واژه")
    assert len(shown_english) == len(shown_persian) == 80


def test_file_that_ends_early_or_has_nothing(tmp_path: Path) -> None:
    lines = [f"{'word ' * (number * 7 % 31)}x\n".encode() for number in range(100)]
    message = complaint(two_files(tmp_path, b"".join(lines), b"".join(lines[:-9])))
    assert "about 92 (a guess), English: word" in message
    assert message.endswith("; Persian: (no line)")
    message = complaint(two_files(tmp_path, b"", PERSIAN))
    assert "text.en has 0 lines" in message
    assert "suspicious" not in message


def test_defects_do_not_hide_a_difference(tmp_path: Path) -> None:
    source = two_files(tmp_path, b"a\nb\nc\n\xff\n", b"x\n")
    assert "text.en has 4 lines" in complaint(source)


@pytest.mark.parametrize("layout", ["files", "zip", "table"])
def test_invalid_utf8(tmp_path: Path, layout: str) -> None:
    english, persian = b"One.\nTw\xff.\nThree.\nFour.\n", b"1\n2\n3\n\xd8\n"
    source = {
        "files": lambda: two_files(tmp_path, english, persian),
        "zip": lambda: zip_file(tmp_path / "text.zip", {"x.en": english, "x.fa": persian}),
        "table": lambda: one_file(tmp_path / "x", b"One.\t1\nTw\xff.\t2\nThree.\t3\nFour.\t\xd8\n"),
    }[layout]()
    message = complaint(source)
    assert f", line 2: not UTF-8 (byte 0xff at byte offset {7 + 2 * (layout == 'table')} of the text)" in message
    assert "convert the file to UTF-8 first, or set `invalid_utf8: drop` for this source" in message
    assert list(read_pairs(source.model_copy(update={"invalid_utf8": "drop"}))) == [
        Pair(1, "One.", "1"), Pair(2, "", "", "invalid_utf8"), Pair(3, "Three.", "3"), Pair(4, "", "", "invalid_utf8")
    ]  # fmt: skip


@pytest.mark.parametrize("layout", ["files", "table", "packed"])
def test_line_of_ten_megabytes(tmp_path: Path, layout: str) -> None:
    long = b"x" * (10 << 20)
    if layout == "table":
        source = one_file(tmp_path / "text.tsv", b"a\tb\n" + long + b"\tc\nd\te\n")
    else:
        pack = PACKERS[".gz" if layout == "packed" else ""]
        source = two_files(tmp_path, pack(b"a\n" + long + b"\nd\n"), pack(b"b\nc\ne\n"))
    assert list(read_pairs(source)) == [Pair(1, "a", "b"), Pair(2, "", "", "line_too_long"), Pair(3, "d", "e")]


MEASURE = """
import collections, resource, sys
from translator.config import SourceConfig
from translator.corpus.sources import read_pairs
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
collections.deque(read_pairs(SourceConfig(name="small", path=sys.argv[1])), 0)
for path in sys.argv[2:]:
    before = peak()
    pairs = collections.deque(read_pairs(SourceConfig(name="large", path=path)), 2)
    print(int(peak() - before), *(pair.defect for pair in pairs))
"""
"""Reads files one after another; prints by how many MiB memory grows, and what is wrong with the last two pairs."""


def test_memory_stays_flat_whatever_the_lines(tmp_path: Path) -> None:
    contents = {
        "small": TABLE * 50_000,
        "many lines": TABLE * 400_000,
        "no newline": b"x" * (64 << 20),
        "long lines": ("é" * (500 << 10) + "\ty\n").encode() * 40,
    }
    paths = [one_file(tmp_path / f"{name}.tsv", content).path or "" for name, content in contents.items()]
    output = subprocess.run([sys.executable, "-c", MEASURE, *paths], check=True, capture_output=True, text=True).stdout
    rows = [row.split() for row in output.splitlines()]
    assert [row[1:] for row in rows] == [["None", "None"], ["line_too_long"], ["None", "None"]]
    assert all(int(row[0]) < 16 for row in rows)


def test_swapped_sides_say_how_to_swap_them(tmp_path: Path) -> None:
    assert complaint(two_files(tmp_path, PERSIAN, ENGLISH)).endswith("(in a recipe `source_path` and `target_path`)")
    message = complaint(zip_file(tmp_path / "x.zip", {"x/en.txt": PERSIAN, "x/fa.txt": ENGLISH}))
    assert message.endswith("set `source_member: x/fa.txt` and `target_member: x/en.txt`")
    swapped = "".join(f"{pair.target}\t{pair.source}\n" for pair in PAIRS).encode()
    assert complaint(one_file(tmp_path / "x", swapped)).endswith("put English into the first column")


def test_blank_side(tmp_path: Path) -> None:
    assert "text.fa is blank on every line" in complaint(two_files(tmp_path, ENGLISH, b" \n\t\n\r\n"))
    assert "the first column is blank on every line" in complaint(one_file(tmp_path / "x", b"\ta\n" * 5000))


def test_names_with_spaces_and_persian_letters(tmp_path: Path) -> None:
    folder = tmp_path / "پیکره‌ی من"
    folder.mkdir()
    assert list(read_pairs(two_files(folder))) == PAIRS
    assert list(read_pairs(one_file(folder / "متن ۱ (نو).tsv", TABLE))) == PAIRS
    assert (
        list(read_pairs(zip_file(folder / "کتاب‌ها.zip", {"دو متن/en.txt": ENGLISH, "دو متن/fa.txt": PERSIAN}))) == PAIRS
    )
    assert "متن ۱ (نو).tsv, line 1: 1 column" in complaint(one_file(folder / "متن ۱ (نو).tsv", b"x"))


def test_missing_file_says_how_to_get_it(tmp_path: Path) -> None:
    missing = SourceConfig(name="mizan", path=str(tmp_path / "mizan.zip"), obtain="Get it from the shelf.")
    message = complaint(missing)
    assert f"`mizan`: {tmp_path / 'mizan.zip'} does not exist. Get it from the shelf." in message
    assert "check the path" in complaint(missing.model_copy(update={"obtain": None}))


def test_one_file_for_both_sides(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(ENGLISH)
    source = SourceConfig(name="text", source_path=str(tmp_path / "x"), target_path=str(tmp_path / "x"))
    assert "both sides are the same file" in complaint(source)


def test_empty_corpus(tmp_path: Path) -> None:
    assert "there is no line in" in complaint(two_files(tmp_path, b"", b""))
    assert "there is no line in" in complaint(one_file(tmp_path / "text.tsv", b""))
    assert "there is no line in" in complaint(one_file(tmp_path / "text.tsv.gz", PACKERS[".gz"](b"")))
    assert "there is no line in" in complaint(zip_file(tmp_path / "text.zip", {"en.txt": b"", "fa.txt": b""}))


def test_zip_given_as_one_side(tmp_path: Path) -> None:
    archive = zip_file(tmp_path / "text.zip", {"en.txt": ENGLISH, "fa.txt": PERSIAN})
    (tmp_path / "fa").write_bytes(PERSIAN)
    source = SourceConfig(name="text", source_path=archive.path, target_path=str(tmp_path / "fa"))
    assert "text.zip is a zip archive; give it as `path`" in complaint(source)


def test_members_of_what_is_no_zip(tmp_path: Path) -> None:
    source = one_file(tmp_path / "text.tsv", b"a\tb\n", source_member="en", target_member="fa")
    assert "text.tsv is not a zip archive" in complaint(source)


def test_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = one_file(tmp_path / "text.tsv", b"a\tb\n")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(StorageError, match=r"cannot read .*text\.tsv: permission denied"):
        list(read_pairs(source))


def test_source_files(tmp_path: Path) -> None:
    source = two_files(tmp_path)
    assert source_files(source) == [tmp_path / "text.en", tmp_path / "text.fa"]


@pytest.mark.skipif(not DATA.is_dir(), reason="the real corpora are not in ../shared/data")
@pytest.mark.parametrize(
    ("settings", "count"),
    [
        ({"path": "mizan.zip"}, 17_200),
        ({"path": "tatoeba.zip"}, 7_861),
        ({"path": "bible.en-fa.zip"}, 31_099),
        ({"path": "docs.tsv.gz"}, 22_312),
        ({"source_path": "afec.en.gz", "target_path": "afec.fa.gz"}, 30_000),
    ],
)
def test_real_corpora_are_read_whole(settings: dict[str, str], count: int) -> None:
    paths = {key: str(DATA / name) for key, name in settings.items()}
    assert sum(1 for _ in read_pairs(SourceConfig.model_validate({"name": "real", **paths}))) == count
