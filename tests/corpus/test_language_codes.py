"""Tests of the codes of languages."""

import pytest

from translator.corpus.reading.languages import split_language

ENGLISH = "en EN eng English eng_Latn en-US en_GB en-001 en-Latn-GB en-x-novels"
PERSIAN = "fa fas per pes Persian farsi fa_IR fas_Arab pes_Arab pes-Aran-IR fa-u-nu-latn"
DARI_AND_TAJIK = "prs prs_Arab fa-AF fa_Arab_AF tgk_Cyrl train.prs_Arab train.fa-AF"
OTHERS = "e fr fa-Latn fa-Cyrl enx en- open sofa corpus.en-fa.ids"
NAMES = {
    **dict.fromkeys(ENGLISH.split(), ("", "en")),
    **dict.fromkeys(PERSIAN.split(), ("", "fa")),
    **dict.fromkeys(["", *DARI_AND_TAJIK.split(), *OTHERS.split()]),
    "train.eng_Latn": ("train.", "en"),
    "newstest-fa_IR": ("newstest-", "fa"),
    "Tatoeba.en-pes.pes": ("Tatoeba.en-pes.", "fa"),
    "mizan.en-fa": ("mizan.en-", "fa"),
}


@pytest.mark.parametrize(("name", "stem_and_language"), NAMES.items())
def test_the_language_at_the_end_of_a_name(name: str, stem_and_language: tuple[str, str] | None) -> None:
    assert split_language(name) == stem_and_language
