"""A file of another language is known by its letters, or by its words."""

import logging

import pytest

from translator.config import NormalizationConfig
from translator.corpus.normalize import Normalizer
from translator.corpus.test_set import HeldOutSet
from translator.errors import CorpusError
from translator.evaluation.languages import check_languages

NORMALIZER = Normalizer(NormalizationConfig())
ENGLISH, PERSIAN = "The door is open.", "در باز است."


def held_out(source: str, *references: str) -> HeldOutSet:
    return HeldOutSet("news", (source,) * 3, (references,) * 3, ("news",) * 3)


@pytest.mark.parametrize(
    ("source", "references", "side"),
    [
        (ENGLISH, ["Die Tür ist offen."], "reference is of another language: 0% of its letters are Persian"),
        (ENGLISH, ["Дверь открыта."], "reference is of another language"),
        (ENGLISH, [PERSIAN, "门开着"], "reference 2 is of another language"),
        ("Дверь открыта.", [PERSIAN], "the English side is of another language: 0% of its letters are Latin"),
        (PERSIAN, [PERSIAN], "the English side is of another language"),
    ],
)
def test_another_script_is_refused(source: str, references: list[str], side: str) -> None:
    with pytest.raises(CorpusError, match=f"test set `news`: {side}"):
        check_languages(held_out(source, *references), NORMALIZER, given=True)


def test_what_belongs_to_the_run_is_only_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="translator"):
        check_languages(held_out(ENGLISH, ENGLISH), NORMALIZER, given=False)
    assert "is of another language" in caplog.text


def test_arabic_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="translator"):
        check_languages(held_out(ENGLISH, "هذا الكتاب الذي كان في البيت"), NORMALIZER, given=True)
    assert "looks like Arabic, not Persian" in caplog.text


@pytest.mark.parametrize("persian", [PERSIAN, "Windows را باز کنید", "۱۲۳", "😀"])
def test_persian_is_left_alone(persian: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="translator"):
        check_languages(held_out(ENGLISH, persian), NORMALIZER, given=True)
    assert caplog.text == ""
