"""Folders of corpora: what is read, in which order, and what is never left out without a word."""

import lzma
from pathlib import Path

import pytest
import zstandard
from corpus.sources.corpora import ENGLISH, PACKERS, PAIRS, PERSIAN, TABLE, complaint, folder_of, two_files, zip_file

from translator.config import SourceConfig
from translator.corpus.sources import read_pairs, source_files
from translator.corpus.sources.folders import corpora_of_folder
from translator.errors import CorpusError, StorageError

NO_TEXT = ["README", "README.md", "LICENSE.txt", "notes.md", ".hidden", ".DS_Store", "SHA256SUMS", "text.md5", "X.ids"]


def test_everything_in_the_order_of_names(tmp_path: Path) -> None:
    folder = tmp_path / "پیکره من"
    source = folder_of(
        folder,
        {
            "z.tsv": TABLE,
            "b.TSV.gz": PACKERS[".gz"](TABLE),
            "X.en": ENGLISH,
            "X.fa": PERSIAN,
            "X.en-fa.fa.xz": lzma.compress(PERSIAN),
            "X.en-fa.en.zst": zstandard.compress(ENGLISH),
            "en.txt": ENGLISH,
            "fa.txt": PERSIAN,
            "کتاب ها_en.txt": ENGLISH,
            "کتاب ها_fa.txt": PERSIAN,
            **dict.fromkeys(NO_TEXT, b"\xff"),
        },
    )
    zip_file(folder / "m.zip", {"a/en.txt": ENGLISH, "a/fa.txt": PERSIAN})
    names = ["X.en", "X.fa", "X.en-fa.en.zst", "X.en-fa.fa.xz", "b.TSV.gz", "en.txt", "fa.txt", "m.zip", "z.tsv"]
    names += ["کتاب ها_en.txt", "کتاب ها_fa.txt"]
    assert source_files(source) == [folder / name for name in names]
    assert list(read_pairs(source)) == PAIRS * 7


def test_max_pairs_counts_through_all_files(tmp_path: Path) -> None:
    source = folder_of(tmp_path, {"a.tsv": TABLE, "b.tsv": TABLE + b"wrong\n", "c.tsv": b"wrong"})
    for most in range(1, 7):
        assert list(read_pairs(source.model_copy(update={"max_pairs": most}))) == (PAIRS * 2)[:most]
    assert "b.tsv, line 4: 1 column" in complaint(source)


def test_lines_are_counted_in_each_file(tmp_path: Path) -> None:
    source = folder_of(tmp_path, {"a.tsv": TABLE, "b.en": b"x\n\xff\n", "b.fa": b"y\nz\n"})
    assert "b.en, line 2: not UTF-8 (byte 0xff at byte offset 2 " in complaint(source)


def test_each_corpus_of_a_folder_is_checked(tmp_path: Path) -> None:
    source = folder_of(tmp_path, {"a.tsv": TABLE, "b.en": PERSIAN, "b.fa": ENGLISH})
    assert complaint(source).endswith("b.fa; swap the names of the two files")
    folder_of(tmp_path, {"b.en": b"", "b.fa": b""})
    assert "b.fa: there is no line in it" in complaint(source)
    folder_of(tmp_path, {"b.en": b"x\n", "b.fa": b"\n"})
    assert "b.fa is blank on every line" in complaint(source)
    folder_of(tmp_path, {"b.en": b"x\n", "b.fa": b"y\nz\n"})
    assert "b.en has 1 lines" in complaint(source)


@pytest.mark.parametrize("name", ["X.en", "X.en.gz", "en.txt", "X_fa.txt.zst", "FA"])
def test_text_without_its_partner(tmp_path: Path, name: str) -> None:
    source = folder_of(tmp_path, {"a.tsv": TABLE, name: b"", "Y.en": b"", "Y.fa": b""})
    message = complaint(source)
    mine, other = ("English", "Persian") if "en" in name else ("Persian", "English")
    assert f"the folder {tmp_path}: {name} ({mine}) has no {other} partner of the same name" in message
    assert all(listed in message.partition("It holds: ")[2] for listed in ("a.tsv", name, "Y.en", "Y.fa"))
    with pytest.raises(CorpusError):
        source_files(source)


@pytest.mark.parametrize("names", [("X.en", "X.fa", "X.fa.gz"), ("X.en", "X.en.xz", "X.fa"), ("X.en", "X.EN", "X.fa")])
def test_text_that_is_there_twice(tmp_path: Path, names: tuple[str, ...]) -> None:
    message = complaint(folder_of(tmp_path, dict.fromkeys(names, b"x\n")))
    assert "are one text twice; remove one" in message
    assert all(name in message for name in names)


@pytest.mark.parametrize("name", ["text.de", "text.txt", "text.tar", "x\ny"])
def test_what_is_not_known_is_not_left_out_silently(tmp_path: Path, name: str) -> None:
    message = complaint(folder_of(tmp_path, {"a.tsv": TABLE, name: b""}))
    assert "this is not read; move it" in message
    assert "It holds: a.tsv, " in message


def test_folders_inside(tmp_path: Path) -> None:
    source = folder_of(tmp_path, {"a.tsv": TABLE})
    (tmp_path / "__MACOSX").mkdir()
    (tmp_path / ".git").mkdir()
    assert list(read_pairs(source)) == PAIRS
    (tmp_path / "more.zip").mkdir()
    assert "`more.zip/`: folders inside a folder are not read" in complaint(source)


@pytest.mark.parametrize("names", [[], NO_TEXT])
def test_nothing_to_read(tmp_path: Path, names: list[str]) -> None:
    message = complaint(folder_of(tmp_path, dict.fromkeys(names, b"")))
    assert "there is no zip, no .tsv and no pair like X.en and X.fa in it" in message
    assert message.endswith("It holds: nothing that could be a corpus")


def test_members_and_sides_are_no_folders(tmp_path: Path) -> None:
    source = folder_of(tmp_path / "x", {"a.tsv": TABLE})
    members = {"source_member": "en.txt", "target_member": "fa.txt"}
    assert "x is a folder; `source_member` and `target_member` name" in complaint(source.model_copy(update=members))
    sides = two_files(tmp_path).model_copy(update={"target_path": str(tmp_path / "x")})
    assert "x is a folder; give a file" in complaint(sides)


def test_hostile_archive_in_a_folder(tmp_path: Path) -> None:
    source = folder_of(tmp_path, {"a.tsv": TABLE})
    zip_file(tmp_path / "b.zip", {"en.txt": ENGLISH, "fa.txt": PERSIAN, "../x": b""})
    assert "b.zip is refused: the member `../x` leads out of the archive" in complaint(source)
    zip_file(tmp_path / "b.zip", {"en.txt": PERSIAN, "fa.txt": ENGLISH})
    assert complaint(source).endswith("swap the names of its members")


def test_folder_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(StorageError, match=r"cannot read .*: permission denied"):
        corpora_of_folder(tmp_path)


@pytest.mark.skipif(not Path("../shared/data").is_dir(), reason="the real corpora are not in ../shared/data")
def test_the_real_corpora_are_one_folder() -> None:
    source = SourceConfig(name="real", path="../shared/data")
    assert len(source_files(source)) == 7
    assert sum(1 for _ in read_pairs(source)) == 177_068
