"""The output text: Latin words, Persian orthography, no punctuation that a minimum length forced, copied parts."""

from typing import Any

import pytest

from tests.support.echo_model import Words
from translator.config import NormalizationConfig, SearchConfig
from translator.corpus.normalizer.normalizer import Normalizer
from translator.inference.text.output_text import OutputWriter
from translator.inference.text.segments import Segment
from translator.subword.placeholders import PLACEHOLDERS


@pytest.mark.parametrize(
    ("text", "source", "search", "expected"),
    [
        ("در @ است", "It is at x.org", {}, "در x.org است"),
        ("آقای Smth @", "Smith is there", {}, "آقای Smith x.org"),
        ("آقای Smth @", "He is there", {"prefix": "آقای Smith"}, "آقای Smith x.org"),
        ("رفت. ..", "He went.", {"min_length_ratio": 0.5}, "رفت x.org."),
        ("رفت. ..", "He went.", {}, "رفت x.org. .."),
        ("او می رود @", "He goes.", {}, "او می\u200cرود x.org"),
        ("او می رود @", "He goes.", {"orthography": False}, "او می رود x.org"),
        ("در @\u2028است", "It is at x.org", {}, "در x.org است"),
    ],
)
def test_the_output_is_what_a_reader_expects(text: str, source: str, search: dict[str, Any], expected: str) -> None:
    prefix = search.pop("prefix", "")
    words = Words(PLACEHOLDERS[0])  # stands for `x.org`
    pair: Any = type("Pair", (), {"source": words, "target": words})
    writer = OutputWriter(pair, Normalizer(NormalizationConfig()), SearchConfig.model_validate(search))
    segment = Segment(line=0, source=source, ids=[], is_first=True, copied={PLACEHOLDERS[0]: "x.org"})
    rows = words.encode([text.replace("@", PLACEHOLDERS[0])])
    assert writer.texts(rows, segment, prefix) == [expected]
