"""The output text: Persian orthography, and no punctuation that only a minimum length forced."""

import pytest
from echo_model import GREEDY, echo

from translator.inference.output_text import without_second_ending


def test_orthography_corrects_persian_spacing_unless_turned_off() -> None:
    as_found, _ = echo(search=GREEDY.model_copy(update={"orthography": False}))
    for text, typeset in (("او می رود", "او می\u200cرود"), ("کتاب ها", "کتاب\u200cها"), ("کرده\u200cبود", "کرده بود")):
        assert echo()[0].translate(f"Translation {text}") == f"Translation {typeset}"
        assert as_found.translate(f"Translation {text}") == f"Translation {text}"


@pytest.mark.parametrize(
    ("text", "source", "expected"),
    [
        ("رفت. .. ...", "He went.", "رفت."),
        ("چرا؟ .", "Why?", "چرا؟"),
        ("صبر کن...", "Wait ...", "صبر کن..."),
        ("صبر کن..", "Wait…", "صبر کن.."),
        ("«بله.»", "“Yes.”", "«بله.»"),
    ],
)
def test_extra_final_punctuation_is_removed_unless_the_source_has_it(text: str, source: str, expected: str) -> None:
    assert without_second_ending(text, source) == expected
