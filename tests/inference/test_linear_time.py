"""Functions on text take linear time: 100,000 characters of a repeated unit, which take minutes in quadratic time."""

import time
from collections.abc import Callable

import pytest

from translator.config import NormalizationConfig
from translator.corpus.normalizer import Normalizer
from translator.inference.latin_words import with_source_spelling
from translator.inference.output_text import without_second_ending
from translator.inference.sentences import split_sentences
from translator.subword.placeholders import PLACEHOLDERS, cut_out, put_back
from translator.subword.spelling import FREQUENT, SpellingCorrector

NORMALIZER = Normalizer(NormalizationConfig())
FUNCTIONS: dict[str, Callable[[str], object]] = {
    "normalizer, source": NORMALIZER.source,
    "normalizer, target": NORMALIZER.target,
    "cut_out": lambda text: cut_out(text, PLACEHOLDERS),
    "put_back": lambda text: put_back(text, {PLACEHOLDERS[0]: "1"}),
    "spelling": SpellingCorrector({"word": FREQUENT}),
    "sentences": split_sentences,
    "latin words": lambda text: with_source_spelling(f"سلام {text}", "Berlin"),
    "second ending": lambda text: without_second_ending(f"{text}a", "a"),
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("unit", ["a", " ", ".", "a.", '("', "`"])
def test_a_long_repeated_unit_takes_linear_time(function: Callable[[str], object], unit: str) -> None:
    text = unit * (100_000 // len(unit))
    before = time.process_time()
    function(f"a{text}x")
    assert time.process_time() - before < 5
