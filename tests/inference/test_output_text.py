"""The output text: Latin words, Persian orthography, no punctuation that a minimum length forced, copied parts."""

from typing import Any

import pytest

from tests.support.echo_model import GREEDY, Words, echo
from translator.config import NormalizationConfig, SearchConfig
from translator.corpus.normalizer.normalizer import Normalizer
from translator.inference.text.output_text import OutputWriter, without_second_ending
from translator.inference.text.segments import Segment
from translator.subword.placeholders import PLACEHOLDERS


def written(text: str, source: str, prefix: str = "", **search: Any) -> str:
    """Return the output text of a model that has written `text`; its placeholder stands for `x.org`."""
    words = Words(PLACEHOLDERS[0])
    pair: Any = type("Pair", (), {"source": words, "target": words})
    writer = OutputWriter(pair, Normalizer(NormalizationConfig()), SearchConfig.model_validate(search))
    segment = Segment(line=0, source=source, ids=[], is_first=True, copied={PLACEHOLDERS[0]: "x.org"})
    (output,) = writer.texts(words.encode([text.replace("@", PLACEHOLDERS[0])]), segment, prefix)
    return output


def test_copied_parts_stand_where_their_placeholders_were() -> None:
    assert written("در @ است", "It is at x.org") == "در x.org است"


def test_a_latin_word_is_spelt_as_in_the_forced_prefix() -> None:
    assert written("آقای Smth @", "He is there", prefix="آقای Smith") == "آقای Smith x.org"


@pytest.mark.parametrize(("ratio", "expected"), [(0.5, "رفت x.org."), (0.0, "رفت x.org. ..")])
def test_a_doubled_ending_is_removed_if_there_is_a_minimum_length(ratio: float, expected: str) -> None:
    assert written("رفت. ..", "He went.", min_length_ratio=ratio) == expected


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
