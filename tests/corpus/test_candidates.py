"""The first pass: what is set aside on disk, and that the number of processes does not show."""

from pathlib import Path

import numpy as np
import pytest

from translator.config import CorpusConfig, FilterConfig, SourceConfig
from translator.corpus.candidates import Candidates, collect_candidates
from translator.corpus.duplicates import Shelf, text_key
from translator.corpus.normalize import fold

PAIRS = [(f"This is sentence {number} , my friend .", f"این جملهٔ {number} است ، دوست من .") for number in range(9000)]


def write(path: Path, pairs: list[tuple[str, str]]) -> SourceConfig:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return SourceConfig(name=path.stem, path=str(path))


@pytest.fixture
def settings(tmp_path: Path) -> CorpusConfig:
    odd = [("", "x"), *PAIRS[:3], ("English", "English")]
    return CorpusConfig(sources=(write(tmp_path / "odd.tsv", odd), write(tmp_path / "book.tsv", PAIRS)))


def collect(settings: CorpusConfig, folder: Path, processes: int = 1) -> list[Candidates]:
    test_set = write(folder.parent / "test.tsv", [("Yes", "Yes"), ("a", "ا")])
    folder.mkdir()
    with Shelf(folder) as shelf:
        return collect_candidates(settings, (test_set,), folder, shelf, processes)


def test_each_source_has_its_own(settings: CorpusConfig, tmp_path: Path) -> None:
    odd, book, test_set = collect(settings, tmp_path / "spool")
    assert (odd.read, len(odd), odd.dropped["empty"]) == (5, 3, 1)
    assert odd.line_numbers.tolist() == [2, 3, 4]
    assert (book.read, len(book)) == (9000, 9000)
    assert (test_set.read, len(test_set)) == (2, 2)  # not filtered
    assert book.normalized[0].read_text("utf-8").startswith("This is sentence 0, my friend.\n")
    assert book.raw[0].read_text("utf-8").startswith("This is sentence 0 , my friend .\n")
    assert book.keys.source[5].tobytes() == text_key(PAIRS[5][0])


def test_folded_texts_are_put_on_the_shelf(settings: CorpusConfig, tmp_path: Path) -> None:
    (tmp_path / "spool").mkdir()
    with Shelf(tmp_path / "spool") as shelf:
        odd, _ = collect_candidates(settings, (), tmp_path / "spool", shelf, 1)
        for number in (0, 1, 4096, 8999):
            assert shelf.text(len(odd) + number) == "|".join(map(fold, PAIRS[number]))
    settings = settings.model_copy(update={"filters": FilterConfig(near_duplicates=None)})
    (tmp_path / "other").mkdir()
    with Shelf(tmp_path / "other") as shelf:
        collect_candidates(settings, (), tmp_path / "other", shelf, 1)
        assert len(shelf) == 0


def test_the_number_of_processes_does_not_show(settings: CorpusConfig, tmp_path: Path) -> None:
    one = collect(settings, tmp_path / "one")
    two = collect(settings, tmp_path / "two", processes=2)
    files = [file.relative_to(tmp_path / "one") for file in (tmp_path / "one").rglob("*") if file.is_file()]
    assert len(files) == 14
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    for ours, theirs in zip(one, two, strict=True):
        assert (ours.read, ours.dropped) == (theirs.read, theirs.dropped)
        assert ours.examples.chosen() == theirs.examples.chosen()
        assert np.array_equal(ours.keys.source, theirs.keys.source)
        assert np.array_equal(ours.line_numbers, theirs.line_numbers)


def test_nothing_at_all(tmp_path: Path) -> None:
    settings = CorpusConfig(sources=(write(tmp_path / "odd.tsv", [("", "x"), ("English", "English")]),))
    with Shelf(tmp_path) as shelf:
        (only,) = collect_candidates(settings, (), tmp_path, shelf, 1)
    assert len(only) == 0
    assert only.keys.source.shape == (0,)
