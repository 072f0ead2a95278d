"""One complete line out for each line in, in order; n-best lists, scores, alignments; and refused arguments."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.echo_model import GREEDY, Words, echo
from translator import Translator
from translator.config import SearchConfig
from translator.errors import InputError
from translator.inference.translation import Translation
from translator.subword.placeholders import PLACEHOLDERS


def best_texts(translations_of_lines: list[list[Translation]]) -> list[str]:
    return [translations[0].text for translations in translations_of_lines]


def searched_rows(model: Any) -> int:
    return sum(rows for rows, _ in model.shapes)


def longest_row(model: Any) -> int:
    return max((width for _, width in model.shapes), default=0)


def test_what_is_copied_has_its_own_name_in_an_alignment_and_in_the_attention() -> None:
    translator, _ = echo(source=Words(PLACEHOLDERS[:2]))
    alignment = translator.align("see a.org", "a.org see")
    assert alignment.source == ["see", "a.org"]
    assert alignment.target == ["a.org", "see"]
    ((translation,),) = translator.translations(["see a.org"], attention=True, prefixes=["see"])
    assert translation.attention is not None
    assert "▁a.org" in translation.attention[0].source


# --- sentences and segments ---

LONG_TEXT = "One two three. Four five a.org six, eight nine ten. Unbroken."


@pytest.mark.parametrize(
    ("split", "size", "segments"),
    [(True, "a sentence of 7 tokens", 2), (False, "11 tokens", 4)],
    ids=["split", "whole"],
)
def test_what_is_too_long_is_translated_in_segments_with_a_warning(
    split: bool, size: str, segments: int, caplog: pytest.LogCaptureFixture
) -> None:
    search = GREEDY.model_copy(update={"split_sentences": split})
    translator, model = echo(max_length=5, search=search, source=Words(PLACEHOLDERS[:2]))
    assert best_texts(translator.translations(["short", LONG_TEXT], first_line=11)) == ["short", LONG_TEXT]
    assert longest_row(model) <= 5
    assert caplog.messages == [
        f"line 12 has {size}, more than the 4 that the model takes at once: translated in {segments} segments"
    ]


def test_equal_sentences_are_searched_once_and_white_space_stays() -> None:
    translator, model = echo()
    paragraph = "It rains.  Да. It rains.\tMr. Lee left at 5 p.m. today!\u00a0It rains."
    ((best,),) = translator.translations([paragraph])
    assert (best.text, best.pieces) == (paragraph, 4)
    assert searched_rows(model) == 2


LINE_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
WEIRD = st.text(
    st.characters(exclude_categories=["Cs"])
    | st.sampled_from(LINE_BREAKS + "\t \u200c\u200e\u202e\u2066\ufeff\U0001f469\u200d\U0001f467\x00\x1b.!?,;"),
    max_size=40,
)


@settings(max_examples=25)
@given(st.lists(WEIRD, max_size=8), st.sampled_from([4, 12]))
def test_every_text_gives_exactly_one_output_line(texts: list[str], max_length: int) -> None:
    translator, model = echo(max_length=max_length)
    lines = translator.translate_lines(texts)
    assert len(lines) == len(texts)
    for text, line in zip(texts, lines, strict=True):
        assert len(line.splitlines()) <= 1
        assert line == "" or text.strip()
    assert longest_row(model) <= max_length


@pytest.fixture
def narrow_translator(random_run: Path) -> Translator:
    """A translator of random weights, to which each letter is a token, that searches three rows at a time."""
    return Translator.load(random_run, search=SearchConfig(method="beam", beam_size=2, batch_size=3))


def test_a_word_longer_than_the_model_limit_is_cut_between_tokens(narrow_translator: Translator) -> None:
    (whole,) = narrow_translator.segments(["abcdefgh"])
    segments = replace(narrow_translator, max_length=4).segments(["abcdefgh"])
    assert [len(segment.ids) for segment in segments] == [3, 3, 3]
    assert list(itertools.chain.from_iterable(segment.ids for segment in segments)) == whole.ids


# --- the search ---


def test_very_long_lines_are_searched_in_batches_of_one() -> None:
    search = SearchConfig(method="beam", beam_size=4, batch_size=8, max_length_ratio=0.01)
    translator, model = echo(max_length=3000, search=search)
    long_texts = [f"{letter} " * 2500 for letter in "abc"]
    short_texts = [f"d {letter}" for letter in "abcdefghij"]
    translator.translate_lines(iter(long_texts + short_texts))
    assert model.shapes == [(1, 2501), (1, 2501), (1, 2501), (8, 3), (2, 3)]


def test_the_caller_can_stop_inside_a_search() -> None:
    translator, model = echo(search=SearchConfig())
    check = Mock(side_effect=[None, None, None, KeyboardInterrupt])
    with pytest.raises(KeyboardInterrupt):
        translator.translations([" ".join("abcdefghij")], check=check)
    assert len(model.shapes) == 1, "inside the first batch"
    assert translator.translate_lines(["a b c"]) == ["a b c"]


def test_a_translation_does_not_depend_on_other_texts_and_threads(narrow_translator: Translator) -> None:
    texts = ["abc", "h", "", "gfedcba abc", "hhhhhhhh", "abcabc", "d e f"]
    expected = narrow_translator.translate_lines(texts)
    assert len(set(expected)) > 3, "it tells texts apart"
    with ThreadPoolExecutor(8) as threads:
        lines = list(threads.map(narrow_translator.translate, texts * 4))
    assert lines == expected * 4


# --- forced prefixes ---


def test_a_prefix_begins_the_first_segment_of_its_own_text() -> None:
    translator, _ = echo()
    texts = ["a b", "a b", "", "We go. They go."]
    lines = best_texts(translator.translations(texts, prefixes=["c", "", "y", "x"]))
    assert lines[:3] == ["c b", "a b", ""]
    assert (lines[3][0], lines[3].count("x")) == ("x", 1)


def test_a_too_long_prefix_is_refused_with_its_line_before_any_search() -> None:
    translator, model = echo()
    model.max_positions = translator.searcher.max_positions = 6
    # The empty text is not searched: its prefix is ignored. The prefix of the fourth text is too long.
    texts = ["a b c d", "", "a b c", "a", "a b"]
    prefixes = ["", "p " * 9, "p p p p p", "p p p p p p", ""]
    message = "the forced prefix of line 14 has 6 tokens, but the model can take no more than 5 before the end"
    with pytest.raises(InputError, match=message):
        translator.translations(texts, prefixes=prefixes, first_line=11)
    assert model.shapes == []
    assert len(translator.translations(texts[:3], prefixes=prefixes[:3])) == 3, "the longest that fits"


# --- alignments ---


def test_alignment_of_too_long_texts_and_of_no_text_is_refused() -> None:
    translator, _ = echo(max_length=4)
    with pytest.raises(InputError, match="the texts have 6 and 1 tokens, but the model takes at most 3"):
        translator.align("a b c d e f", "x")
    no_text: Any = None
    with pytest.raises(InputError, match=r"target\[0\] is of type NoneType, not str"):
        translator.align("a b", no_text)


# --- refused arguments ---


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["a", "b", None], r"texts\[2\] is of type NoneType, not str"),
        (["a", "bc\ud800"], r"texts\[1\] has a lone surrogate \(half a character\) at position 2"),
    ],
)
def test_invalid_texts_are_refused_with_their_index(texts: Any, message: str) -> None:
    translator, model = echo()
    with pytest.raises(InputError, match=message):
        translator.translate_lines(texts)
    assert model.shapes == []
