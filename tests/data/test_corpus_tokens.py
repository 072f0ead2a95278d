"""The token stores of a prepared corpus: its text as the models see it, whatever the number of processes."""

from collections.abc import Callable, Iterable, Iterator
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpora import contents
from tests.support.sentences import ENGLISH, PERSIAN, unigram
from tests.support.toy_corpora import write_pairs
from translator.config import CorpusConfig, NormalizationConfig, SourceConfig, SplitConfig
from translator.corpus.normalizer.normalizer import Normalizer
from translator.corpus.prepare import prepare_corpus
from translator.corpus.prepared_corpus import PreparedCorpus
from translator.data import corpus_tokens
from translator.data.corpus_tokens import STORED_SPLITS, StoredSplit, open_tokens
from translator.data.token_store import PairStore
from translator.subword import SubwordPair, prepare_subword
from translator.subword.source_text import training_pair

NORMALIZER = Normalizer(NormalizationConfig())


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    folder = tmp_path_factory.mktemp("corpus")
    # The normalizer changes all texts: the spaces inside the brackets, and the Arabic letters of `كتاب`.
    pairs = []
    for number in range(12):
        for english, persian in zip(ENGLISH, PERSIAN, strict=True):
            pairs.append((f"{english} ( {number} )", f"{persian} ( {number} ) كتاب"))
    path = write_pairs(folder / "pairs.tsv", pairs)
    config = CorpusConfig(
        sources=(SourceConfig(name="pairs", path=str(path)),),
        split=SplitConfig(validation=20, test=0),
        prepared_directory=str(folder / "prepared"),
    )
    return prepare_corpus(config)


@pytest.fixture(scope="module")
def subword(corpus: PreparedCorpus, tmp_path_factory: pytest.TempPathFactory) -> SubwordPair:
    return prepare_subword(unigram(placeholders=4), corpus, tmp_path_factory.mktemp("subword"))[0]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_tokens, "_BLOCK_PAIRS", 7)


def ids_of(stores: dict[StoredSplit, PairStore], split: StoredSplit) -> list[tuple[list[int], list[int]]]:
    pairs = [stores[split][number] for number in range(len(stores[split]))]
    return [(source.tolist(), target.tolist()) for source, target in pairs]


@pytest.mark.parametrize("split", STORED_SPLITS)
def test_a_store_has_the_ids_of_the_text_as_the_models_see_it(
    tmp_path: Path, corpus: PreparedCorpus, subword: SubwordPair, split: StoredSplit
) -> None:
    stores, _ = open_tokens(corpus, subword, NORMALIZER, tmp_path)
    placeholders = list(subword.source.placeholders)
    expected_ids = []
    for raw_source, raw_target in corpus.pairs(split, "pairs"):
        source, target = training_pair(NORMALIZER.source(raw_source), NORMALIZER.target(raw_target), placeholders)
        (source_ids,) = subword.source.encode([source])
        (target_ids,) = subword.target.encode([target])
        expected_ids.append((source_ids, target_ids))
    assert ids_of(stores, split) == expected_ids


def pickled_copy(value: Any) -> Any:
    return ForkingPickler.loads(ForkingPickler.dumps(value))


def passed_to_a_process(
    setup: Callable[[], Callable[[Any], Any]], items: Iterable[Any], _processes: int
) -> Iterator[Any]:
    """Yield the results of `items`, and pickle everything that goes to a process and comes back, without its start."""
    work = pickled_copy(setup)()
    for item in items:
        yield pickled_copy(work(pickled_copy(item)))


def test_processes_write_the_same_stores_as_one(
    tmp_path: Path, corpus: PreparedCorpus, subword: SubwordPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_tokens(corpus, subword, NORMALIZER, tmp_path / "1")
    monkeypatch.setattr(corpus_tokens, "map_in_order", passed_to_a_process)
    open_tokens(corpus, subword, NORMALIZER, tmp_path / "2", processes=2)
    assert contents(tmp_path / "2") == contents(tmp_path / "1") != {}
