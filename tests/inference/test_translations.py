"""What is told of a translation besides its text, and what may be asked of it."""

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from echo_model import echo
from untrained import untrained_run

from translator import Translator
from translator.config import SearchConfig
from translator.errors import ConfigError, InputError
from translator.inference.attention import Alignment


def test_the_best_of_several_is_the_one_that_comes_alone(tiny: Any) -> None:
    run = untrained_run(tiny())
    search = SearchConfig(method="beam", beam_size=4)
    translator = Translator.load(run.path, search=search)
    texts = ["abc", "", "hgf dd"]
    found = translator.translations(texts, count=3)
    assert [len(translations) for translations in found] == [3, 1, 3]
    assert [translations[0].text for translations in found] == translator.translate_lines(texts)
    for translations in found:
        scores = [translation.normalized_score for translation in translations]
        assert scores == sorted(scores, reverse=True)
    assert (found[1][0].text, found[1][0].pieces) == ("", 0)


def test_scores_are_those_of_the_same_text_given(tiny: Any) -> None:
    run = untrained_run(tiny())
    translator = Translator.load(run.path, search=SearchConfig(method="greedy", length_penalty=0.7))
    sources = ["abc", "hgf", "ddd eee"]
    found = [translations[0] for translations in translator.translations(sources)]
    scored = translator.score(sources, [translation.text for translation in found])
    checked = 0
    for own, given_text in zip(found, scored, strict=True):
        if own.finished and own.tokens == given_text.tokens:
            assert given_text.score == pytest.approx(own.score, abs=1e-4)
            assert given_text.normalized_score == pytest.approx(own.normalized_score, abs=1e-4)
            checked += 1
    longer = translator.score(["abc"], ["abc"])[0]
    assert longer.tokens == len("▁abc") + 1
    assert longer.normalized_score == pytest.approx(longer.score / ((5 + longer.tokens) / 6) ** 0.7)


def test_a_pair_that_is_too_long_has_no_score(tiny: Any, caplog: pytest.LogCaptureFixture) -> None:
    run = untrained_run(tiny())
    translator = Translator.load(run.path)
    with caplog.at_level(logging.WARNING, logger="translator"):
        found = translator.score(["abc", "a" * 100, "abc"], ["abc", "abc", "a" * 100])
    assert [translation.score > -1e9 for translation in found] == [True, False, False]
    assert [record.getMessage() for record in caplog.records] == ["2 of 3 pairs are too long for the model to score"]


def test_a_prefix_is_how_translations_begin(tiny: Any) -> None:
    run = untrained_run(tiny("batching.max_length=12"))
    translator = Translator.load(run.path, search=SearchConfig(method="beam", beam_size=3))
    texts = ["abc", "hgf", "", "abc abc abc abc"]
    found = translator.translations(texts, count=2, prefixes=["cab", "", "cab", "fed"])
    assert all(translation.text.startswith("cab") for translation in found[0])
    assert [one.text for one in found[1]] == [one.text for one in translator.translations(["hgf"], count=2)[0]]
    assert found[2][0].text == "", "an empty text stays empty"
    assert found[3][0].pieces > 1
    assert found[3][0].text.startswith("fed")
    assert found[3][0].text.count("fed") < found[3][0].pieces, "only the beginning is forced"


def test_more_than_a_search_can_find(tiny: Any) -> None:
    translator, _ = echo()
    with pytest.raises(ConfigError, match="greedy"):
        translator.translations([""], count=2)


def test_eight_threads_translate_as_one_does(tiny: Any) -> None:
    run = untrained_run(tiny())
    search = SearchConfig(method="beam", beam_size=2, batch_size=3, max_length_ratio=0.1)
    translator = Translator.load(run.path, search=search)
    texts = [["abc", "h", "gfedcba abc"], ["hhhhhhhh", "abcabc", "d e f"], ["a b", "", "cc dd"], ["fgh", "g", "e"]] * 2
    alone = [translator.translations(part, count=2, attention=True) for part in texts]
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(lambda part: translator.translations(part, count=2, attention=True), texts))
    for ours, expected in zip(together, alone, strict=True):
        assert [[t.text for t in found] for found in ours] == [[t.text for t in found] for found in expected]
        assert [[t.score for t in found] for found in ours] == [[t.score for t in found] for found in expected]
        assert [[t.alignment for t in found] for found in ours] == [[t.alignment for t in found] for found in expected]


def test_words_are_aligned_across_pieces() -> None:
    translator, _ = echo(max_length=4)
    (translation,) = translator.translations(["a b c d e"], attention=True)[0]
    assert translation.pieces == 2
    assert translation.alignment is not None
    assert translation.attention is not None
    assert len(translation.attention) == 2
    assert translation.alignment.source == translation.alignment.target == ("a", "b", "c", "d", "e")
    assert {target for _, target in translation.alignment.pairs} == set(range(5))
    assert translator.translations(["a"])[0][0].alignment is None, "only where it was asked for"


def test_an_empty_text_has_every_key_that_the_others_have(tiny: Any) -> None:
    translator = Translator.load(untrained_run(tiny()).path)
    (word,), (nothing,) = translator.translations(["abc", " "], attention=True)
    assert set(nothing.to_json()) == set(word.to_json())
    assert (nothing.text, nothing.alignment, nothing.attention) == ("", Alignment((), (), ()), ())
    (word,), (nothing,) = translator.translations(["abc", " "])
    assert set(nothing.to_json()) == set(word.to_json())


def test_a_text_is_aligned_with_a_translation_from_elsewhere() -> None:
    translator, _ = echo(max_length=6)
    found = translator.align("a b c", "x y")
    assert (found.source, found.target) == (("a", "b", "c"), ("x", "y"))
    assert len(found.pairs) == 2
    with pytest.raises(InputError, match="the texts have 6 and 1 tokens, and the model can take 5"):
        translator.align("a b c d e f", "x")
