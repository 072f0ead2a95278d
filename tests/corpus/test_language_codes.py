"""Tests of the table of language codes."""

import pytest

from translator.corpus.reading.languages import language_of, split_language


@pytest.mark.parametrize(
    "tag", ["en", "EN", "eng", "English", "eng_Latn", "en-US", "en_GB", "en-001", "en-Latn-GB", "en-x-novels"]
)
def test_tags_of_english(tag: str) -> None:
    assert language_of(tag) == "en"


@pytest.mark.parametrize(
    "tag",
    ["fa", "fas", "per", "pes", "Persian", "farsi", "fa_IR", "fas_Arab", "pes_Arab", "pes-Aran-IR", "fa-u-nu-latn"],
)
def test_tags_of_persian(tag: str) -> None:
    assert language_of(tag) == "fa"


@pytest.mark.parametrize("tag", ["prs", "prs_Arab", "fa-AF", "fa_Arab_AF", "tgk_Cyrl"])
def test_dari_and_tajik_are_other_languages(tag: str) -> None:
    assert language_of(tag) is None


@pytest.mark.parametrize("tag", ["", "e", "fr", "fa-Latn", "fa-Cyrl", "en-fa", "fa_en", "en-fas", "enx", "-en", "en-"])
def test_other_tags_are_no_language(tag: str) -> None:
    assert language_of(tag) is None


@pytest.mark.parametrize(
    "name, stem, language",
    [
        ("en", "", "en"),
        ("train.eng_Latn", "train.", "en"),
        ("newstest-fa_IR", "newstest-", "fa"),
        ("Tatoeba.en-pes.pes", "Tatoeba.en-pes.", "fa"),
        ("mizan.en-fa", "mizan.en-", "fa"),
        ("translation.fa", "translation.", "fa"),
    ],
)
def test_language_at_the_end_of_a_name(name: str, stem: str, language: str) -> None:
    assert split_language(name) == (stem, language)


@pytest.mark.parametrize("name", ["train.prs_Arab", "train.fa-AF", "open", "sofa", "corpus.en-fa.ids", ""])
def test_names_without_a_language_at_the_end(name: str) -> None:
    assert split_language(name) is None
