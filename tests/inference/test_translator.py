"""One complete line out for each line in, in order; n-best lists, scores, alignments; and refused arguments."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from echo_model import GREEDY, Words, echo
from hypothesis import given, settings
from hypothesis import strategies as st

from translator import Translator
from translator.config import SearchConfig
from translator.errors import ConfigError, InputError
from translator.subword.placeholders import PLACEHOLDERS

LINE_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


@pytest.mark.parametrize("search", [GREEDY, SearchConfig(method="beam", beam_size=3, batch_size=5)])
def test_translations_keep_input_order_although_batches_are_sorted(search: SearchConfig) -> None:
    translator, model = echo(search=search)
    texts = [" ".join(f"w{number}" for _ in range(1 + number * 7 % 15)) for number in range(40)]
    assert translator.translate_lines(texts) == texts
    widths = [width for _, width in model.shapes]
    assert widths == sorted(widths, reverse=True), "the longest first, so that memory does not run out at the end"
    assert max(rows for rows, _ in model.shapes) == search.batch_size


def test_line_breaks_in_a_text_or_model_output_become_spaces() -> None:
    class Breaking(Words):
        separator = ""

        def decode_ids(self, rows: Sequence[Sequence[int]]) -> list[str]:
            return [self.separator.join(self.words[token] for token in row) for row in rows]

    words = Breaking()
    translator, _ = echo(source=words)
    for words.separator in (*LINE_BREAKS, "\r\n"):
        assert translator.translate_lines([f"a{words.separator}b{words.separator}", "c"]) == ["a b", "c"]


def test_empty_texts_stay_empty_and_never_reach_the_model() -> None:
    translator, model = echo()
    assert translator.translate_lines(["", " ", "\t\u00a0\u200b", "\u2028"]) == [""] * 4
    assert model.shapes == []


def test_urls_emails_handles_and_emoji_are_copied_unchanged() -> None:
    translator, model = echo(source=Words(PLACEHOLDERS[:2]), max_length=6)
    unchanged = ["a b c d. e f https://x.org/Q?a=B g. h 👨‍👩‍👧", "HTTPS://x.org/A%20b", "@a @b @c d"]
    texts = ["Mail  Ali@Example.org now", *unchanged, "12 of 1,500"]
    kept = ["Mail Ali@Example.org now", *unchanged, "۱۲ of ۱,۵۰۰"]
    assert translator.translate_lines(texts) == kept
    assert sum(rows for rows, _ in model.shapes) == 5 and PLACEHOLDERS[0] in translator.subword.source.words  # type: ignore[attr-defined]
    assert "Ali@Example.org" not in translator.subword.source.words  # type: ignore[attr-defined]
    alignment = translator.align("see a.org", "a.org see")
    assert (alignment.source, alignment.target) == (("see", "a.org"), ("a.org", "see"))
    ((best,),) = translator.translations(["see a.org"], attention=True, prefixes=["see"])
    assert best.attention is not None and "▁a.org" in best.attention[0].source


def test_a_long_line_is_translated_in_segments_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    translator, model = echo(max_length=5)
    text = "One two three. Four five six seven, eight nine ten. Unbroken."
    found = translator.translations(["short", text], first_line=11)
    assert [one.text for (one,) in found] == ["short", text]
    assert caplog.messages == [
        "line 12 has a sentence of 7 tokens, more than the 4 that the model takes at once: translated in 2 segments"
    ]
    assert max(width for _, width in model.shapes) <= 5
    whole = replace(translator, search=GREEDY.model_copy(update={"split_sentences": False}))
    assert whole.translate(text) == text
    assert caplog.messages[1:] == [
        "line 1 has 11 tokens, more than the 4 that the model takes at once: translated in 4 segments"
    ]


SENTENCES = st.sampled_from(["It rains.", "Why?", "Mr. Lee left at 5 p.m. today!", "½!", "Да.", "See x.org."])
GAPS = st.sampled_from([" ", "  ", "\t", "\u00a0", " \u2003"])


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(GAPS, SENTENCES), min_size=1, max_size=8))
def test_each_sentence_of_a_paragraph_is_translated_and_white_space_stays(parts: list[tuple[str, str]]) -> None:
    translator, model = echo()
    paragraph = "".join(gap + sentence for gap, sentence in parts).strip()
    ((best,),) = translator.translations([paragraph])
    translated = [sentence for _, sentence in parts if sentence not in ("½!", "Да.")]
    assert best.text == paragraph
    assert best.pieces == len(translated)
    assert sum(rows for rows, _ in model.shapes) == len(set(translated)), "equal sentences are searched once"


@pytest.mark.parametrize(("split", "rows"), [(True, 3), (False, 1)])
def test_sentences_are_translated_alone_unless_turned_off(split: bool, rows: int) -> None:
    translator, model = echo(search=GREEDY.model_copy(update={"split_sentences": split}))
    assert translator.translate("It rains.\nWhy? Go.") == "It rains. Why? Go."
    assert sum(count for count, _ in model.shapes) == rows


def test_a_word_longer_than_the_model_limit_is_cut_between_tokens() -> None:
    class Letters(Words):
        def encode(self, texts: Sequence[str]) -> list[list[int]]:
            return [[10 + ord(letter) for letter in text] for text in texts]

        def decode_ids(self, rows: Sequence[Sequence[int]]) -> list[str]:
            return ["".join(chr(token - 10) for token in row) for row in rows]

    translator, model = echo(max_length=6, source=Letters())
    assert translator.translate("abcdefghijkl").replace(" ", "") == "abcdefghijkl"
    assert max(width for _, width in model.shapes) == 6


def test_very_long_lines_are_searched_in_batches_of_one() -> None:
    search = SearchConfig(method="beam", beam_size=4, batch_size=64, max_length_ratio=0.01)
    translator, model = echo(max_length=3000, search=search)
    translator.translate_lines([f"{letter} " * 2500 for letter in "abc"] + [f"d {letter}" for letter in "abcdefghij"])
    assert model.shapes == [(1, 2501), (1, 2501), (1, 2501), (10, 3)]


@pytest.mark.parametrize(("method", "rows"), [("greedy", 3), ("beam", 3), ("sampling", 5)])
def test_equal_segments_are_searched_once_unless_they_are_samples(method: str, rows: int) -> None:
    translator, model = echo(search=SearchConfig.model_validate({"method": method}))
    texts = ["It rains. Why?", "Why?", "It rains.", "Go."]
    assert translator.translate_lines(texts) == texts
    assert sum(count for count, _ in model.shapes) == rows


def test_equal_segments_with_different_prefixes_are_searched_apart() -> None:
    translator, model = echo()
    found = translator.translations(["a b"] * 3, prefixes=["a", "c", "a"])
    assert [best.text for (best,) in found] == ["a b", "c b", "a b"]
    assert sum(rows for rows, _ in model.shapes) == 2


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
    texts = ["a b c d", "", "a b c", "a", "a b"]
    prefixes = ["", "p " * 9, "p p p p p", "p p p p p p", ""]  # no search for the empty text: its prefix is ignored
    message = "the forced prefix of line 14 has 6 tokens, but the model can take no more than 5 before the end"
    with pytest.raises(InputError, match=message):
        translator.translations(texts, prefixes=prefixes, first_line=11)
    assert model.shapes == []
    assert len(translator.translations(texts[:3], prefixes=prefixes[:3])) == 3, "the longest that fits"


def test_a_translation_depends_neither_on_neighbours_nor_on_threads(random_run: Path) -> None:
    translator = Translator.load(random_run, search=SearchConfig(method="beam", beam_size=2, batch_size=3))
    texts = ["abc", "h", "", "gfedcba abc", "hhhhhhhh", "abcabc", "d e f"]
    together = translator.translate_lines(texts)
    assert len(set(together)) > 3, "the random model tells texts apart"
    assert translator.translate_lines(texts[::-1]) == together[::-1]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(translator.translate, texts * 4)) == together * 4


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
    assert max((width for _, width in model.shapes), default=0) <= max_length


def test_the_first_of_several_translations_equals_the_single_one(random_run: Path) -> None:
    translator = Translator.load(random_run, search=SearchConfig(method="beam", beam_size=4))
    texts = ["abc", "", "hgf dd"]
    found = translator.translations(texts, count=3)
    assert [len(translations) for translations in found] == [3, 1, 3]
    assert [translations[0].text for translations in found] == translator.translate_lines(texts)
    for translations in found:
        assert translations == sorted(translations, key=lambda one: -one.normalized_score)
    assert (found[1][0].text, found[1][0].pieces) == ("", 0)


def test_score_gives_a_translation_the_score_that_search_gave_it(random_run: Path) -> None:
    translator = Translator.load(random_run, search=SearchConfig(method="greedy", length_penalty=0.7))
    sources = ["abc", "hgf", "ddd eee"]
    found = [translations[0] for translations in translator.translations(sources)]
    scored = translator.score(sources, [translation.text for translation in found])
    for own, given_text in zip(found, scored, strict=True):
        if own.finished and own.tokens == given_text.tokens:
            assert given_text.score == pytest.approx(own.score, abs=1e-4)
            assert given_text.normalized_score == pytest.approx(own.normalized_score, abs=1e-4)
    (longer,) = translator.score(["abc"], ["abc"])
    assert longer.tokens == len("▁abc") + 1
    assert longer.normalized_score == pytest.approx(longer.score / ((5 + longer.tokens) / 6) ** 0.7)


def test_translations_begin_with_their_forced_prefix(random_run: Path) -> None:
    translator = replace(Translator.load(random_run, search=SearchConfig(method="beam", beam_size=3)), max_length=12)
    texts = ["abc", "hgf", "", "abc abc abc abc"]
    found = translator.translations(texts, count=2, prefixes=["cab", "", "cab", "fed"])
    assert all(translation.text.startswith("cab") for translation in found[0])
    assert [one.text for one in found[1]] == [one.text for one in translator.translations(["hgf"], count=2)[0]]
    assert found[2][0].text == "", "an empty text stays empty"
    assert found[3][0].pieces > 1
    assert found[3][0].text.startswith("fed")
    assert found[3][0].text.count("fed") < found[3][0].pieces, "only the beginning is forced"


def test_words_are_aligned_across_segments_and_with_a_given_translation() -> None:
    translator, _ = echo(max_length=4)
    (translation,) = translator.translations(["a b c d e"], attention=True)[0]
    assert translation.pieces == len(translation.attention or ()) == 2
    assert translation.alignment is not None
    assert translation.alignment.source == translation.alignment.target == ("a", "b", "c", "d", "e")
    assert {target for _, target in translation.alignment.pairs} == set(range(5))
    assert translator.translations(["a"])[0][0].alignment is None, "only where it was asked for"
    seen = translator.attention("a b c")
    assert seen.source == seen.target == ["▁a", "▁b", "▁c", "</s>"]
    assert seen.weights.tolist() == [[0.5, 0.0, 0.0, 0.5]] * 4, "the mean over the heads of the last layer"
    found = translator.align("a b c", "x y")
    assert (found.source, found.target, len(found.pairs)) == (("a", "b", "c"), ("x", "y"), 2)
    with pytest.raises(InputError, match="the texts have 6 and 1 tokens, but the model takes at most 3"):
        translator.align("a b c d e f", "x")


@pytest.mark.parametrize("method", ["greedy", "beam"])
def test_targets_beyond_the_search_length_limit_score_as_unfinished(random_run: Path, method: Any) -> None:
    """The limit is the length at which the search itself stops, with a model that never ends a sentence."""
    search = SearchConfig(method=method, beam_size=2, max_length_ratio=0.5, avoid_loops=False)
    translator = Translator.load(random_run, search=search)
    sources = ["abc", "abc def", "hgf hgf hgf hgf"]
    stopped = [best[0] for best in translator.translations(sources)]
    assert not any(one.finished for one in stopped)
    for extra in (0, 1):  # a letter is a token, so are ▁ and EOS
        found = translator.score(sources, ["a" * (one.tokens - 2 + extra) for one in stopped])
        assert [(one.tokens - extra, one.finished) for one in found] == [(one.tokens, not extra) for one in stopped]


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
def test_invalid_texts_are_refused_with_their_index(texts: Any, message: str) -> None:
    translator, model = echo()
    for call in (translator.translate_lines, translator.translations, lambda it: translator.score(it, ["a"])):
        with pytest.raises(InputError, match=message.replace("texts", "(texts|sources)", 1)):
            call(texts)
    assert model.shapes == []


def test_invalid_counts_prefixes_and_targets_are_refused() -> None:
    translator, _ = echo()
    calls: list[tuple[Callable[[], object], type[Exception], str]] = [
        (lambda: translator.translations([""], count=2), ConfigError, "greedy"),
        (lambda: translator.translations(["a"], prefixes="x"), InputError, "prefixes must be a list of texts, not"),
        (lambda: translator.score(["a"], ["\udc00"]), InputError, r"targets\[0\] has a lone surrogate"),
        (lambda: translator.score(["a", "b"], ["c"]), InputError, "there are 2 sources and 1 targets"),
    ]
    for call, kind, message in calls:
        with pytest.raises(kind, match=message):
            call()
    assert translator.translate_lines(text for text in ("a", "b")) == ["a", "b"], "any iterable will do"


def test_a_too_long_pair_scores_minus_infinity(random_run: Path, caplog: pytest.LogCaptureFixture) -> None:
    found = Translator.load(random_run).score(["abc", "a" * 100, "abc"], ["abc", "abc", "a" * 100])
    assert [translation.score > -1e9 for translation in found] == [True, False, False]
    assert caplog.messages == ["2 of 3 pairs are too long for the model to score"]
