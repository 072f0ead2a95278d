"""Persian to English: data, translations, pages and exports follow the direction of a recipe."""

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.fence.files import read_lines
from tests.support.command_line import succeed
from translator import Translator
from translator.data import DataHandler, DataPosition
from translator.run.folder import RunFolder
from translator.serve import Limits
from translator.serve.app import make_app


@pytest.fixture(scope="module")
def data(reverse_run: Path) -> DataHandler:
    return DataHandler(RunFolder(reverse_run).config())


@pytest.mark.parametrize("split", ["train", "validation"])
def test_batches_have_persian_sources_and_english_labels(data: DataHandler, split: str) -> None:
    if split == "train":
        batch, _ = next(data.train_batches(DataPosition()))
    else:
        batch = next(iter(data.validation_batches()))
    sources = " ".join(data.subword.source.decode_ids(batch.source.tolist()))
    labels = " ".join(data.subword.target.decode_ids(batch.labels.tolist()))
    assert re.search("[آ-ی]", sources) and not re.search("[a-z]", sources)
    assert re.search("[a-z]", labels) and not re.search("[آ-ی]", labels)


def test_only_english_as_a_source_is_folded_and_corrected(data: DataHandler) -> None:
    assert data.subword.source.normalized("ABC") == "ABC"
    assert data.subword.correct_spelling("whree") == "whree"


def test_both_directions_share_the_prepared_text(reverse_run: Path) -> None:
    succeed("prepare", "--config", reverse_run / "config.yaml", "--set", "corpus.direction=en-fa")
    assert len(list((reverse_run.parents[1] / "prepared").glob("corpus-*"))) == 1


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_persian_is_read_and_english_is_written(engine: str, reverse_run: Path) -> None:
    texts = ("كتاب قديمي است.", "کتاب قدیمی است.", "در اتاق ۴۷٫۵ کتاب هست.", "…۱۲")
    arabic_letters, persian_letters, number, mark = succeed(
        "translate", "--run", reverse_run, "--engine", engine, *texts
    ).lines
    assert arabic_letters == persian_letters
    assert "47.5" in number, "a number is copied in English digits"
    assert mark == "…12"


def test_an_evaluation_and_its_page_follow_the_direction(reverse_run: Path) -> None:
    folder = reverse_run / "evaluation"
    assert re.search("[آ-ی]", read_lines(folder / "small" / "source.txt")[0])
    assert re.search("[a-z]", read_lines(folder / "small" / "reference.txt")[0])
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert '<p class="text" lang="fa" dir="rtl">' in page
    assert '<p class="text" lang="en" dir="ltr">' in page
    assert page.count("latin_words") == 1, "a reader may look for it, but it is a mistake in Persian alone"


def test_the_served_page_follows_the_direction(reverse_run: Path) -> None:
    with TestClient(make_app(Translator.load(reverse_run), Limits()), base_url="http://localhost") as api:
        page = api.get("/").text
    assert "Translate Persian into English" in page
    assert '<textarea id="text" lang="fa" dir="rtl"' in page


def test_the_model_card_follows_the_direction(reverse_run: Path, tmp_path: Path) -> None:
    succeed("export", "--run", reverse_run, "--to", "safetensors", tmp_path / "model")
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    assert ": Persian→English" in card
    assert "بچه‌ها در مدرسه هستند." in card
    assert "language: [fa, en]\n" in card
