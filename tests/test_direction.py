"""Persian to English within the program; `fence/test_direction.py` has what users see of it."""

import pytest
from starlette.testclient import TestClient

from tests.support.derived_runs import recipe, sentences
from tests.support.serve_stand_ins import held
from tests.support.toy_corpora import write_pairs
from translator.config import NormalizationConfig
from translator.config.corpus_section import ENGLISH, PERSIAN
from translator.corpus.normalizer.normalizer import Normalizer
from translator.data import DataHandler, DataPosition
from translator.serve import Limits
from translator.serve.app import make_app

TO_PERSIAN = str.maketrans("abcdefg", "ابپتجچح") | {ord("h"): "خخخ"}
"""A letter that becomes three gives the two sides different ids."""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> DataHandler:
    folder = tmp_path_factory.mktemp("reversed")
    write_pairs(folder / "toy.tsv", [(text, text.translate(TO_PERSIAN)) for text in sentences(range(150))])
    return DataHandler(recipe(folder, "fa-en"))


@pytest.mark.parametrize("split", ["train", "validation"])
def test_reversed_direction_swaps_the_sides_of_batches(data: DataHandler, split: str) -> None:
    if split == "train":
        batch, _ = next(data.train_batches(DataPosition()))
    else:
        batch = next(iter(data.validation_batches()))
    sources = data.subword.source.decode_ids(batch.source.tolist())
    targets = data.subword.target.decode_ids(batch.labels.tolist())
    assert any(sources)
    assert sources == [text.translate(TO_PERSIAN) for text in targets]


def test_only_english_as_a_source_is_folded_and_corrected(data: DataHandler) -> None:
    assert data.subword.source.normalized("ABC") == "ABC"
    assert data.subword.correct_spelling("whree") == "whree"


def test_the_served_page_follows_the_direction() -> None:
    translator = held(opened=True)
    translator.normalizer = Normalizer(NormalizationConfig(), (PERSIAN, ENGLISH))
    with TestClient(make_app(translator, Limits()), base_url="http://localhost") as api:
        page = api.get("/").text
    assert "Translate Persian into English" in page
    assert '<textarea id="text" lang="fa" dir="rtl"' in page
