"""Functions on text take linear time: 40,000 characters of a repeated unit, which take minutes in quadratic time."""

import time
from collections.abc import Callable

import numpy as np
import pytest

from translator.config import NormalizationConfig
from translator.corpus.normalizer.normalizer import Normalizer
from translator.inference.alignment import AttentionMap
from translator.inference.text.joining import join_segments
from translator.inference.text.output_text import with_source_spelling, without_second_ending
from translator.inference.text.sentences import split_sentences
from translator.inference.text.untranslated import cut_marks
from translator.inference.translation import Translation
from translator.subword.markup import cut_tags, split_at_breaks, unescaped
from translator.subword.placeholders import PLACEHOLDERS, cut_out, put_back
from translator.subword.spelling import FREQUENT, SpellingCorrector

NORMALIZER = Normalizer(NormalizationConfig())
FUNCTIONS: dict[str, Callable[[str], object]] = {
    "normalizer, source": NORMALIZER.source,
    "normalizer, target": NORMALIZER.target,
    "cut_out": lambda text: cut_out(f"1 a 2 {text}", PLACEHOLDERS[:1]),  # more numbers than placeholders
    "put_back": lambda text: put_back(text, {PLACEHOLDERS[0]: "1"}),
    "tags": cut_tags,
    "breaks": split_at_breaks,
    "entities": unescaped,
    "spelling": SpellingCorrector({"word": FREQUENT}),
    "sentences": split_sentences,
    "marks": cut_marks,
    "latin words": lambda text: with_source_spelling(f"سلام {text}", "Berlin"),
    "second ending": lambda text: without_second_ending(f"{text}a", "a"),
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize(
    "unit",
    [
        "a",
        " ",
        ".",
        "a.",
        '("',
        "`",
        ".The",
        ". :)",
        "[1]",
        "- 1. ",
        "1",
        "1 ",
        "1-",
        "+1 22 ",
        "<a b=c ",
        "a/",
        "C:\\a",
    ],
)
def test_a_long_repeated_unit_takes_linear_time(function: Callable[[str], object], unit: str) -> None:
    text = unit * (40_000 // len(unit))
    before = time.process_time()
    function(f"a{text}x")
    assert time.process_time() - before < 1


def part_of_a_text(number: int) -> Translation:
    attention_map = AttentionMap([f"▁s{number}"], [f"▁t{number}"], np.ones((1, 1), np.float32))
    return Translation(f"t{number}", -1.0, -1.0, 2, 1, attention=(attention_map,))


def test_joining_many_segments_takes_linear_time() -> None:
    segments = [[part_of_a_text(number)] * 3 for number in range(10_000)]
    before = time.process_time()
    joined = join_segments(segments, [""] * (len(segments) + 1), 3, ranked=True)
    alignment = joined[0].alignment
    assert time.process_time() - before < 5
    assert alignment is not None
    assert alignment.pairs[-1] == (9_999, 9_999)
