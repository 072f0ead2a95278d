"""A named test set is scored on the pairs that its preparation counts."""

from pathlib import Path

from toy import write_pairs

from translator.config import CorpusConfig, NormalizationConfig, SourceConfig
from translator.corpus import Normalizer, prepare_corpus
from translator.corpus.test_set import read_test_set


def test_pairs_without_text_are_left_out_of_both(tmp_path: Path) -> None:
    pairs = [("Yes", "بله"), ("\u200b", "نه"), ("No", " "), ("English", "English"), ("a" * 3000, "ب")]
    held_out = SourceConfig(name="held", path=str(write_pairs(tmp_path / "held.tsv", pairs)))
    train = write_pairs(tmp_path / "train.tsv", [(f"line number {n}", f"خط شمارهٔ {n}") for n in range(9)])
    corpus = CorpusConfig(
        sources=(SourceConfig(name="train", path=str(train), use="train"),),
        prepared_directory=str(tmp_path / "prepared"),
    )
    found = list(read_test_set(held_out, Normalizer(NormalizationConfig())))
    assert [pair.line for pair in found] == [1, 4, 5]
    assert (found[0].source, found[0].target) == pairs[0]
    assert prepare_corpus(corpus, [held_out]).report.test_sets[0].pairs == len(found)
