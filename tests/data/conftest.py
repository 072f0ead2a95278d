"""A small prepared corpus with unigram models."""

import dataclasses

import pytest

from tests.support.two_sources import TwoSourceRecipe, two_sources, write_sources
from translator.config import Config
from translator.data import DataHandler
from translator.data.epoch_text import EpochText


@pytest.fixture(scope="session")
def two_source_recipe(tmp_path_factory: pytest.TempPathFactory) -> TwoSourceRecipe:
    """Return a function that makes recipes with typing errors, over a corpus that is prepared only once."""
    folder = tmp_path_factory.mktemp("two")
    write_sources(folder)

    def make(*, typos: float = 0.5, weight: float = 1.0, **batching: object) -> Config:
        subword = {"vocabulary_size": 60, "byte_fallback": False}
        return two_sources(folder, subword, typos, weight, **batching)

    return make


@pytest.fixture(scope="session")
def mistyped_text(two_source_recipe: TwoSourceRecipe) -> EpochText:
    text = DataHandler(two_source_recipe()).training_batches.text
    return dataclasses.replace(text, max_length=100)
