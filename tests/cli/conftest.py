"""Runs to derive others from: what the tests of several verbs share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.derived_runs import recipe, sentences, to_persian, with_translations, write_lines
from tests.support.tiny_recipe import draw_nothing
from tests.support.toy_corpora import write_pairs
from tests.support.untrained import untrained_run


@pytest.fixture(scope="module")
def little_effort() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        draw_nothing(patch)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs that were never trained, `en-fa` and `fa-en`, and with text that they do not have."""
    folder = tmp_path_factory.mktemp("derived")
    write_pairs(folder / "toy.tsv", with_translations(sentences(range(150))))
    for direction in ("en-fa", "fa-en"):
        untrained_run(recipe(folder, direction))
    write_lines(folder / "persian.txt", [to_persian(text) for text in sentences(range(500, 520))])
    write_pairs(folder / "new.tsv", with_translations(sentences(range(500, 560), "abcxyz")))
    return folder
