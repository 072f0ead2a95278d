"""A named test set is scored on the pairs that its preparation counts; one on the command line on all that it has."""

import gzip
import zipfile
from pathlib import Path

import pytest
from toy import write_pairs

from translator.config import CorpusConfig, NormalizationConfig, SourceConfig
from translator.corpus import Normalizer, prepare_corpus
from translator.corpus.test_set import (
    evenly_spread,
    held_out_argument,
    held_out_of_corpus,
    read_held_out,
    read_test_set,
    validation_sample,
)
from translator.errors import CorpusError, InputError

NORMALIZER = Normalizer(NormalizationConfig())


def write_lines(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_pairs_without_text_are_left_out_of_both(tmp_path: Path) -> None:
    pairs = [("Yes", "بله"), ("\u200b", "نه"), ("No", " "), ("English", "English"), ("a" * 3000, "ب")]
    held_out = SourceConfig(name="held", path=str(write_pairs(tmp_path / "held.tsv", pairs)))
    train = write_pairs(tmp_path / "train.tsv", [(f"line number {n}", f"خط شمارهٔ {n}") for n in range(9)])
    corpus = CorpusConfig(
        sources=(SourceConfig(name="train", path=str(train), use="train"),),
        prepared_directory=str(tmp_path / "prepared"),
    )
    found = list(read_test_set(held_out, NORMALIZER))
    assert [pair.line for pair in found] == [1, 4, 5]
    assert (found[0].source, found[0].target) == pairs[0]
    assert prepare_corpus(corpus, [held_out]).report.test_sets[0].pairs == len(found)


def test_every_layout_of_a_corpus_is_a_test_set(tmp_path: Path) -> None:
    english = write_lines(tmp_path / "news.en", "Yes.", "No.")
    persian = write_lines(tmp_path / "news.fa", "بلي.", "نه.")
    table = write_pairs(tmp_path / "table.tsv", [("Yes.", "بلي."), ("No.", "نه.")])
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "table.tsv").write_bytes(table.read_bytes())
    with gzip.open(tmp_path / "packed.tsv.gz", "wb") as packed:
        packed.write(table.read_bytes())
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.write(english, "news.en")
        archive.write(persian, "news.fa")
    for text, name in {
        str(table): "table",
        f"{english}:{persian}": "news",
        str(tmp_path / "folder"): "folder",
        str(tmp_path / "packed.tsv.gz"): "packed",
        str(tmp_path / "archive.zip"): "archive",
        f"flores.devtest={table}": "flores.devtest",
    }.items():
        found = read_held_out(held_out_argument(text), NORMALIZER)
        assert found.name == name
        assert found.sources == ("Yes.", "No.")
        assert found.references == (("بلي.",), ("نه.",)), "as read, Arabic yeh and all"
        assert found.origins == (name, name)


def test_several_references_stand_beside_one_english_side(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.en", "Yes.", "No.", "Perhaps.")
    write_lines(tmp_path / "a.fa", "بله.", "نه.", "شاید.")
    write_lines(tmp_path / "b.fa", "آری.", " ", "گویا.")
    found = read_held_out(held_out_argument(f"x={tmp_path}/a.en:{tmp_path}/a.fa:{tmp_path}/b.fa"), NORMALIZER)
    assert found.sources == ("Yes.", "Perhaps."), "a sentence that one reference leaves blank is left out"
    assert found.references == (("بله.", "آری."), ("شاید.", "گویا."))


def test_a_file_with_an_equals_sign_in_its_name_is_a_file(tmp_path: Path) -> None:
    table = write_pairs(tmp_path / "a=b.tsv", [("Yes.", "بله.")])
    assert held_out_argument(str(table))[0].path == str(table)


@pytest.mark.parametrize("text", ["{folder}/nowhere.tsv", "{folder}/a.en:{folder}/nowhere.fa", "x=", ""])
def test_what_is_not_there_is_said(tmp_path: Path, text: str) -> None:
    write_lines(tmp_path / "a.en", "Yes.")
    with pytest.raises(InputError, match="cannot be found"):
        held_out_argument(text.format(folder=tmp_path))


def test_a_name_that_cannot_be_one_is_said(tmp_path: Path) -> None:
    table = write_pairs(tmp_path / "a.tsv", [("Yes.", "بله.")])
    with pytest.raises(InputError, match="`my set` cannot be the name of a test set"):
        held_out_argument(f"my set={table}")


def test_unequal_sides_are_told_with_both_counts(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.en", "Yes.", "No.", "Perhaps.")
    write_lines(tmp_path / "a.fa", "بله.", "نه.", "شاید.")
    write_lines(tmp_path / "b.fa", "بله.", "نه.")
    for text in (f"{tmp_path}/a.en:{tmp_path}/b.fa", f"{tmp_path}/a.en:{tmp_path}/a.fa:{tmp_path}/b.fa"):
        with pytest.raises(CorpusError, match=r"a\.en has 3 lines, .*b\.fa has 2"):
            read_held_out(held_out_argument(text), NORMALIZER)


def test_an_empty_test_set_is_said(tmp_path: Path) -> None:
    empty = write_lines(tmp_path / "empty.tsv")
    with pytest.raises(CorpusError, match="there is no line in it"):
        read_held_out(held_out_argument(str(empty)), NORMALIZER)
    write_lines(tmp_path / "a.en", "Yes.", " ")
    write_lines(tmp_path / "a.fa", " ", "نه.")
    with pytest.raises(CorpusError, match="not one line has text on every side"):
        read_held_out(held_out_argument(f"{tmp_path}/a.en:{tmp_path}/a.fa"), NORMALIZER)


def test_what_was_held_out_of_each_source(tmp_path: Path) -> None:
    def pairs(word: str) -> list[tuple[str, str]]:
        return [(f"{word} number {n}", f"{word} شمارهٔ {n}") for n in range(40)]

    sources = [SourceConfig(name=name, path=str(write_pairs(tmp_path / f"{name}.tsv", pairs(name)))) for name in "ab"]
    corpus = prepare_corpus(
        CorpusConfig.model_validate(
            {
                "sources": [source.model_dump() for source in sources],
                "split": {"validation": 10, "test": 5},
                "filters": {"near_duplicates": None, "min_target_script": None, "max_untranslated": None},
                "prepared_directory": str(tmp_path / "prepared"),
            }
        )
    )
    found = held_out_of_corpus(corpus, "test")
    assert [(one.name, len(one.sources), set(one.origins)) for one in found] == [("a", 5, {"a"}), ("b", 5, {"b"})]
    sample = validation_sample(corpus, 4)
    assert sample is not None
    assert sample.origins == ("a", "a", "b", "b")
    assert len(sample.references) == 4
    assert validation_sample(corpus, 0) is None


def test_evenly_spread() -> None:
    assert evenly_spread(10, 4) == [0, 3, 6, 9]
    assert evenly_spread(3, 8) == [0, 1, 2]
    assert evenly_spread(0, 8) == evenly_spread(8, 0) == []
