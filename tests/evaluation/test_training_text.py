"""What a run's training text has of a test set: counted on words without case, and on folded sentences."""

from pathlib import Path
from typing import Any

import pytest
from toy import write_pairs

from translator.corpus.prepare import prepare_corpus
from translator.corpus.test_set import HeldOutSet
from translator.data import DataHandler
from translator.evaluation.training_text import english_words, find_prepared, look_through

TRAINING = [("The door is open", "در باز است"), ("the door's key", "کلید در"), ("Nobody knows", "کسی نمی‌داند")]


def held_out(*rows: tuple[str, str]) -> HeldOutSet:
    return HeldOutSet("news", tuple(row[0] for row in rows), tuple((row[1],) for row in rows), ("news",) * len(rows))


@pytest.fixture
def config(tiny: Any, tmp_path: Path) -> Any:
    write_pairs(tmp_path / "toy.tsv", TRAINING)
    return tiny("corpus.split={validation: 0, test: 0}", "corpus.filters.near_duplicates=null")


def test_words_are_whole_and_without_case() -> None:
    assert english_words("The door's KEY, no. 3!") == ["the", "door's", "key", "no", "3"]


def test_rare_words_are_those_below_the_number(config: Any) -> None:
    corpus = prepare_corpus(config.corpus)
    one = held_out(("The DOOR opens", "x"), ("the the", "x"), ("...", "x"), ("quite unknown", "x"))
    handler = DataHandler(config)
    found = look_through(corpus, [one], handler.normalizer, for_leaks=())
    assert found.rare_shares(one.sources, 2) == (2 / 3, 0.0, 0.0, 1.0)
    assert found.rare_shares(one.sources, 1) == (1 / 3, 0.0, 0.0, 1.0)
    assert found.count_known(one) == 0, "nobody asked"


def test_sentences_are_known_by_either_side_however_they_are_spelt(config: Any) -> None:
    corpus = prepare_corpus(config.corpus)
    rows = held_out(("the DOOR is open!", "x"), ("x", "كسي نمي‌داند."), ("y", "z"), ("The door", "در"))
    found = look_through(corpus, [rows], DataHandler(config).normalizer, for_leaks=[rows])
    assert found.count_known(rows) == 2


def test_a_prepared_corpus_is_found_but_never_made(config: Any, tmp_path: Path) -> None:
    assert find_prepared(config) is None
    assert not (tmp_path / "prepared").exists()
    made = prepare_corpus(config.corpus)
    assert find_prepared(config) == made
    (tmp_path / "toy.tsv").unlink()
    assert find_prepared(config) is None
