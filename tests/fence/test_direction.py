"""Persian to English: translations, evaluations and exports follow the direction of a recipe."""

import re
from pathlib import Path

import pytest

from tests.fence.files import read_lines
from tests.support.command_line import succeed


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


def test_the_model_card_follows_the_direction(reverse_run: Path, tmp_path: Path) -> None:
    succeed("export", "--run", reverse_run, "--to", "safetensors", tmp_path / "model")
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    assert ": Persian→English" in card
    assert "بچه‌ها در مدرسه هستند." in card
    assert "language: [fa, en]\n" in card
