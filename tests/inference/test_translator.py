"""One complete line out for each line in, in order; n-best lists, scores, alignments; and refused arguments."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.echo_model import GREEDY, Words, echo
from translator import Translator
from translator.config import SearchConfig
from translator.errors import InputError
from translator.inference.translation import Translation
from translator.subword.placeholders import PLACEHOLDERS

LINE_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


def best_texts(translations_of_lines: list[list[Translation]]) -> list[str]:
    return [translations[0].text for translations in translations_of_lines]


def searched_rows(model: Any) -> int:
    return sum(rows for rows, _ in model.shapes)


def longest_row(model: Any) -> int:
    return max((width for _, width in model.shapes), default=0)


def repeated_word(number: int) -> str:
    """Return a text of 1 to 15 words; neighbouring numbers give different lengths."""
    word_count = 1 + number * 7 % 15
    word = "w" + chr(ord("a") + number // 26) + chr(ord("a") + number % 26)  # with digits, it would be a copied code
    return " ".join([word] * word_count)


MIXED_LENGTHS = [repeated_word(number) for number in range(40)]
SEARCHES = pytest.mark.parametrize("search", [GREEDY, SearchConfig(method="beam", beam_size=3, batch_size=5)])


@SEARCHES
def test_translations_keep_input_order(search: SearchConfig) -> None:
    translator, _ = echo(search=search)
    assert translator.translate_lines(MIXED_LENGTHS) == MIXED_LENGTHS


@SEARCHES
def test_a_batch_has_the_rows_of_the_setting(search: SearchConfig) -> None:
    translator, model = echo(search=search)
    translator.translate_lines(MIXED_LENGTHS)
    assert max(rows for rows, _ in model.shapes) == search.batch_size


class JoinedBy(Words):
    """Words between which the model writes a given separator."""

    def __init__(self, separator: str) -> None:
        super().__init__()
        self.separator = separator

    def decode_ids(self, rows: Sequence[Sequence[int]]) -> list[str]:
        texts = []
        for row in rows:
            texts.append(self.separator.join(self.words[token] for token in row))
        return texts


@pytest.mark.parametrize("line_break", [*LINE_BREAKS, "\r\n"])
def test_line_breaks_in_a_text_or_model_output_become_spaces(line_break: str) -> None:
    translator, _ = echo(source=JoinedBy(line_break))
    assert translator.translate_lines([f"a{line_break}b{line_break}", "c"]) == ["a b", "c"]


def test_empty_texts_stay_empty_and_never_reach_the_model() -> None:
    translator, model = echo()
    assert translator.translate_lines(["", " ", "\t\u00a0\u200b", "\u2028"]) == [""] * 4
    assert model.shapes == []


COPIED = ["a b c d. e f https://x.org/Q?a=B g. h 👨‍👩‍👧", "HTTPS://x.org/A%20b", "@a @b @c d"]


def test_urls_emails_handles_and_emoji_are_copied_unchanged() -> None:
    translator, _ = echo(source=Words(PLACEHOLDERS[:2]), max_length=6)
    texts = ["Mail  Ali@Example.org now", *COPIED, "12 of 1,500"]
    expected = ["Mail Ali@Example.org now", *COPIED, "۱۲ of ۱,۵۰۰"]
    assert translator.translate_lines(texts) == expected


def test_the_model_sees_a_placeholder_for_what_is_copied() -> None:
    words = Words(PLACEHOLDERS[:2])
    translator, model = echo(source=words)
    translator.translate("Mail Ali@Example.org now")
    assert searched_rows(model) == 1
    assert PLACEHOLDERS[0] in words.words
    assert "Ali@Example.org" not in words.words


def test_a_text_of_what_is_copied_alone_never_reaches_the_model() -> None:
    translator, model = echo(source=Words(PLACEHOLDERS[:2]))
    assert translator.translate("HTTPS://x.org/A%20b") == "HTTPS://x.org/A%20b"
    assert model.shapes == []


def test_what_is_copied_has_its_own_name_in_an_alignment() -> None:
    translator, _ = echo(source=Words(PLACEHOLDERS[:2]))
    alignment = translator.align("see a.org", "a.org see")
    assert alignment.source == ("see", "a.org")
    assert alignment.target == ("a.org", "see")


def test_what_is_copied_has_its_own_name_in_the_attention() -> None:
    translator, _ = echo(source=Words(PLACEHOLDERS[:2]))
    ((translation,),) = translator.translations(["see a.org"], attention=True, prefixes=["see"])
    assert translation.attention is not None
    assert "▁a.org" in translation.attention[0].source


LONG_TEXT = "One two three. Four five six seven, eight nine ten. Unbroken."


def test_a_long_sentence_is_translated_in_segments_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    translator, model = echo(max_length=5)
    translations_of_lines = translator.translations(["short", LONG_TEXT], first_line=11)
    assert best_texts(translations_of_lines) == ["short", LONG_TEXT]
    assert longest_row(model) <= 5
    assert caplog.messages == [
        "line 12 has a sentence of 7 tokens, more than the 4 that the model takes at once: translated in 2 segments"
    ]


def test_a_long_line_that_is_not_split_is_translated_in_segments(caplog: pytest.LogCaptureFixture) -> None:
    translator, _ = echo(max_length=5, search=GREEDY.model_copy(update={"split_sentences": False}))
    assert translator.translate(LONG_TEXT) == LONG_TEXT
    assert caplog.messages == [
        "line 1 has 11 tokens, more than the 4 that the model takes at once: translated in 4 segments"
    ]


COPIED_SENTENCES = ["½!", "Да."]  # they have no English word
ENGLISH_SENTENCES = ["It rains.", "Why?", "Mr. Lee left at 5 p.m. today!", "See x.org."]
SENTENCES = st.sampled_from(ENGLISH_SENTENCES + COPIED_SENTENCES)
GAPS = st.sampled_from([" ", "  ", "\t", "\u00a0", " \u2003"])


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(GAPS, SENTENCES), min_size=1, max_size=8))
def test_each_sentence_of_a_paragraph_is_translated_and_white_space_stays(parts: list[tuple[str, str]]) -> None:
    translator, model = echo()
    paragraph = "".join(gap + sentence for gap, sentence in parts).strip()
    ((best,),) = translator.translations([paragraph])
    assert best.text == paragraph

    searched_sentences = []
    for _, sentence in parts:
        if sentence not in COPIED_SENTENCES:
            searched_sentences.append(sentence)
    assert best.pieces == len(searched_sentences)
    assert searched_rows(model) == len(set(searched_sentences)), "equal sentences are searched once"


@pytest.mark.parametrize(("split", "rows"), [(True, 3), (False, 1)])
def test_sentences_are_translated_alone_unless_turned_off(split: bool, rows: int) -> None:
    translator, model = echo(search=GREEDY.model_copy(update={"split_sentences": split}))
    assert translator.translate("It rains.\nWhy? Go.") == "It rains. Why? Go."
    assert searched_rows(model) == rows


class Letters(Words):
    """A subword model in which each letter is a token."""

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        return [list(map(self.token_of, text)) for text in texts]

    def decode_ids(self, rows: Sequence[Sequence[int]]) -> list[str]:
        return ["".join(map(self.letter_of, row)) for row in rows]

    def token_of(self, letter: str) -> int:
        return 10 + ord(letter)

    def letter_of(self, token: int) -> str:
        return chr(token - 10)


def test_a_word_longer_than_the_model_limit_is_cut_between_tokens() -> None:
    translator, model = echo(max_length=6, source=Letters())
    assert translator.translate("abcdefghijkl").replace(" ", "") == "abcdefghijkl"
    assert longest_row(model) == 6


def test_very_long_lines_are_searched_in_batches_of_one() -> None:
    search = SearchConfig(method="beam", beam_size=4, batch_size=64, max_length_ratio=0.01)
    translator, model = echo(max_length=3000, search=search)
    long_texts = [f"{letter} " * 2500 for letter in "abc"]
    short_texts = [f"d {letter}" for letter in "abcdefghij"]
    translator.translate_lines(long_texts + short_texts)
    assert model.shapes == [(1, 2501), (1, 2501), (1, 2501), (10, 3)]


@pytest.mark.parametrize(("method", "rows"), [("greedy", 3), ("beam", 3), ("sampling", 5)])
def test_equal_segments_are_searched_once_unless_they_are_samples(method: str, rows: int) -> None:
    translator, model = echo(search=SearchConfig.model_validate({"method": method}))
    texts = ["It rains. Why?", "Why?", "It rains.", "Go."]
    assert translator.translate_lines(texts) == texts
    assert searched_rows(model) == rows


def test_equal_segments_with_different_prefixes_are_searched_apart() -> None:
    translator, model = echo()
    translations_of_lines = translator.translations(["a b"] * 3, prefixes=["a", "c", "a"])
    assert best_texts(translations_of_lines) == ["a b", "c b", "a b"]
    assert searched_rows(model) == 2


@pytest.mark.parametrize("method", ["greedy", "beam", "sampling"])
def test_the_caller_can_stop_inside_a_search(method: str) -> None:
    translator, model = echo(search=SearchConfig.model_validate({"method": method}))
    checks: list[int] = []

    def stop_at_fourth() -> None:
        checks.append(1)
        if len(checks) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        translator.translations([" ".join("abcdefghij")], check=stop_at_fourth)
    assert len(model.shapes) == 1, "inside the first batch"
    assert translator.translate_lines(["a b c"]) == ["a b c"]


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


NEIGHBOURS = ["abc", "h", "", "gfedcba abc", "hhhhhhhh", "abcabc", "d e f"]


@pytest.fixture
def narrow_translator(random_run: Path) -> Translator:
    """A translator of random weights that searches with a narrow beam, three rows at a time."""
    translator = Translator.load(random_run, search=SearchConfig(method="beam", beam_size=2, batch_size=3))
    assert len(set(translator.translate_lines(NEIGHBOURS))) > 3, "it tells texts apart"
    return translator


def test_a_translation_does_not_depend_on_its_neighbours(narrow_translator: Translator) -> None:
    forward = narrow_translator.translate_lines(NEIGHBOURS)
    assert narrow_translator.translate_lines(NEIGHBOURS[::-1]) == forward[::-1]


def test_a_translation_does_not_depend_on_other_threads(narrow_translator: Translator) -> None:
    expected = narrow_translator.translate_lines(NEIGHBOURS)
    with ThreadPoolExecutor(8) as threads:
        lines = list(threads.map(narrow_translator.translate, NEIGHBOURS * 4))
    assert lines == expected * 4


WEIRD = st.text(
    st.characters(exclude_categories=["Cs"])
    | st.sampled_from(LINE_BREAKS + "\t \u200c\u200e\u202e\u2066\ufeff\U0001f469\u200d\U0001f467\x00\x1b.!?,;"),
    max_size=40,
)


@settings(deadline=None, max_examples=40)
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
def beam_translator(random_run: Path) -> Translator:
    return Translator.load(random_run, search=SearchConfig(method="beam", beam_size=4))


def test_an_empty_prefix_forces_nothing(beam_translator: Translator) -> None:
    _, forced = beam_translator.translations(["abc", "hgf"], count=2, prefixes=["cab", ""])
    (expected,) = beam_translator.translations(["hgf"], count=2)
    assert [translation.text for translation in forced] == [translation.text for translation in expected]


def test_an_empty_text_stays_empty_with_a_forced_prefix(beam_translator: Translator) -> None:
    assert best_texts(beam_translator.translations([""], prefixes=["cab"])) == [""]


def test_only_the_first_segment_begins_with_the_forced_prefix(beam_translator: Translator) -> None:
    translator = replace(beam_translator, max_length=12)
    ((translation,),) = translator.translations(["abc abc abc abc"], prefixes=["fed"])
    assert translation.pieces > 1
    assert translation.text.startswith("fed")
    assert translation.text.count("fed") < translation.pieces


def test_words_are_aligned_across_segments() -> None:
    translator, _ = echo(max_length=4)
    words = ("a", "b", "c", "d", "e")
    ((translation,),) = translator.translations([" ".join(words)], attention=True)
    assert translation.pieces == 2
    assert translation.attention is not None
    assert len(translation.attention) == 2

    alignment = translation.alignment
    assert alignment is not None
    assert alignment.source == words
    assert alignment.target == words
    aligned_targets = {target for _, target in alignment.pairs}
    assert aligned_targets == set(range(len(words)))


def test_attention_is_the_mean_over_the_heads_of_the_last_layer() -> None:
    translator, _ = echo()
    attention = translator.attention("a b c")
    assert attention.source == ["▁a", "▁b", "▁c", "</s>"]
    assert attention.target == attention.source
    assert attention.weights.tolist() == [[0.5, 0.0, 0.0, 0.5]] * 4


def test_words_are_aligned_with_the_translation_of_the_caller() -> None:
    translator, _ = echo()
    alignment = translator.align("a b c", "x y")
    assert alignment.source == ("a", "b", "c")
    assert alignment.target == ("x", "y")
    assert len(alignment.pairs) == 2


def test_alignment_of_too_long_texts_is_refused() -> None:
    translator, _ = echo(max_length=4)
    with pytest.raises(InputError, match="the texts have 6 and 1 tokens, but the model takes at most 3"):
        translator.align("a b c d e f", "x")


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("hello", r"texts must be a list of texts, not of type str; for one text, use translate\(text\)"),
        (b"hello", "texts must be a list of texts, not of type bytes"),
        (7, "texts must be a list of texts, not of type int"),
        (["a", "b", None], r"texts\[2\] is of type NoneType, not str"),
        (["a", "bc\ud800"], r"texts\[1\] has a lone surrogate \(half a character\) at position 2"),
    ],
)
@pytest.mark.parametrize("method", ["translate_lines", "translations", "score"])
def test_invalid_texts_are_refused_with_their_index(texts: Any, message: str, method: str) -> None:
    translator, model = echo()
    arguments = [texts]
    if method == "score":
        arguments.append(["a"])  # the targets
        message = message.replace("texts", "sources", 1)
    with pytest.raises(InputError, match=message):
        getattr(translator, method)(*arguments)
    assert model.shapes == []


def test_texts_may_be_any_iterable() -> None:
    assert echo()[0].translate_lines(text for text in ("a", "b")) == ["a", "b"]
