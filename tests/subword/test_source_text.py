"""The source text as a model sees it in a search: the order of its steps."""

import pytest

from tests.support.sentences import ENGLISH, trained, unigram
from translator.config import NormalizationConfig
from translator.corpus.normalizer.normalizer import Normalizer
from translator.subword import SubwordPair
from translator.subword.placeholders import PLACEHOLDERS
from translator.subword.source_text import SourceReader, training_pair
from translator.subword.spelling import FREQUENT, SpellingCorrector

FIRST = PLACEHOLDERS[0]


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> SourceReader:
    path = tmp_path_factory.mktemp("source") / "source.model"
    model = trained(ENGLISH * 20, unigram(placeholders=4, vocabulary_size=80), path)
    pair = SubwordPair(model, model, SpellingCorrector({"letters": FREQUENT}))
    return SourceReader(pair, Normalizer(NormalizationConfig()))


def test_an_address_is_cut_out_before_spelling_is_corrected(reader: SourceReader) -> None:
    source = reader.read("lettesr at www.lettesr.org", correct_spelling=True)
    assert source.text == f"letters at {FIRST}"
    assert source.copied == {FIRST: "www.lettesr.org"}


def test_a_training_pair_without_placeholders_stays_unchanged() -> None:
    assert training_pair(f"{FIRST} 12", "۱۲", []) == (f"{FIRST} 12", "۱۲")
