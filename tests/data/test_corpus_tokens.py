"""The token stores of a prepared corpus: its text as the models see it, whatever the number of processes."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.corpora import contents
from tests.support.sentences import ENGLISH, PERSIAN, unigram
from tests.support.toy_corpora import write_pairs
from tests.support.worker_stand_in import map_in_two_processes
from translator.config import CorpusConfig, NormalizationConfig, SourceConfig, SplitConfig
from translator.corpus.normalizer.normalizer import Normalizer
from translator.corpus.prepare import prepare_corpus
from translator.data import corpus_tokens
from translator.data.corpus_tokens import STORED_SPLITS, open_tokens
from translator.subword import SubwordPair, prepare_subword
from translator.subword.source_text import training_pair

NORMALIZER = Normalizer(NormalizationConfig())


def test_stores_have_the_ids_of_the_text_as_the_models_see_it_whatever_the_number_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The normalizer changes all texts: the spaces inside the brackets, and the Arabic letters of `كتاب`.
    pairs = []
    for number in range(12):
        for english, persian in zip(ENGLISH, PERSIAN, strict=True):
            pairs.append((f"{english} ( {number} )", f"{persian} ( {number} ) كتاب"))
    path = write_pairs(tmp_path / "pairs.tsv", pairs)
    config = CorpusConfig(
        sources=(SourceConfig(name="pairs", path=str(path)),),
        split=SplitConfig(validation=20, test=0),
        prepared_directory=str(tmp_path / "prepared"),
    )
    corpus = prepare_corpus(config)
    subword, _ = prepare_subword(unigram(placeholders=4), corpus, tmp_path / "subword")

    monkeypatch.setattr(corpus_tokens, "_BLOCK_PAIRS", 7)
    stores, fingerprint = open_tokens(corpus, subword, NORMALIZER, tmp_path / "1")
    for split in STORED_SPLITS:
        for number, (raw_source, raw_target) in enumerate(corpus.pairs(split, "pairs")):
            normalized = NORMALIZER.source(raw_source), NORMALIZER.target(raw_target)
            source, target = training_pair(*normalized, list(subword.source.placeholders))
            source_rows, target_rows = stores[split].flat(np.array([number]))
            assert source_rows.ids.tolist() == subword.source.encode_one(source)
            assert target_rows.ids.tolist() == subword.target.encode_one(target)
        assert len(stores[split]) == number + 1

    joint = SubwordPair(subword.source, subword.source)
    assert open_tokens(corpus, joint, NORMALIZER, tmp_path / "joint")[1] != fingerprint, "its ids mean other pieces"

    monkeypatch.setattr(corpus_tokens, "map_in_order", map_in_two_processes)
    open_tokens(corpus, subword, NORMALIZER, tmp_path / "2", processes=2)
    assert contents(tmp_path / "2") == contents(tmp_path / "1") != {}
