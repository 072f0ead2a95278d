"""Scoring pairs: the log-probability of a given translation, as the search would have scored it."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.echo_model import echo
from translator import Translator
from translator.config import SearchConfig
from translator.errors import InputError


@pytest.fixture
def penalized_translator(random_run: Path) -> Translator:
    return Translator.load(random_run, search=SearchConfig(method="greedy", length_penalty=0.7))


def test_score_gives_a_translation_the_score_that_search_gave_it(penalized_translator: Translator) -> None:
    sources = ["abc", "hgf", "ddd eee"]
    # With this prefix, the random model ends, and the pieces begin with ▁, as those of the encoded text do.
    translations = []
    for (translation,) in penalized_translator.translations(sources, prefixes=["d"] * 3):
        translations.append(translation)
    targets = [translation.text for translation in translations]
    for translation, rescored in zip(translations, penalized_translator.score(sources, targets), strict=True):
        assert translation.finished
        assert rescored.tokens == translation.tokens
        assert rescored.score == pytest.approx(translation.score, abs=1e-4)
        assert rescored.normalized_score == pytest.approx(translation.normalized_score, abs=1e-4)


def test_score_divides_by_the_length_penalty(penalized_translator: Translator) -> None:
    (translation,) = penalized_translator.score(["abc"], ["abc"])
    assert translation.tokens == len("▁abc") + 1
    penalty = ((5 + translation.tokens) / 6) ** 0.7
    assert translation.normalized_score == pytest.approx(translation.score / penalty)


@pytest.mark.parametrize("method", ["greedy", "beam"])
def test_targets_beyond_the_search_length_limit_score_as_unfinished(random_run: Path, method: Any) -> None:
    """The limit is the length at which the search itself stops, with a model that never ends a sentence."""
    search = SearchConfig(method=method, beam_size=2, max_length_ratio=0.5, avoid_loops=False)
    translator = Translator.load(random_run, search=search)
    sources = ["abc", "abc def", "hgf hgf hgf hgf"]
    limits = []
    for (translation,) in translator.translations(sources):
        assert not translation.finished
        limits.append(translation.tokens)

    # A letter is a token, so are ▁ and EOS.
    longest_targets = ["a" * (limit - 2) for limit in limits]
    at_the_limit = translator.score(sources, longest_targets)
    assert [translation.tokens for translation in at_the_limit] == limits
    assert [translation.finished for translation in at_the_limit] == [True] * 3

    too_long_targets = ["a" * (limit - 1) for limit in limits]
    beyond = translator.score(sources, too_long_targets)
    assert [translation.tokens for translation in beyond] == [limit + 1 for limit in limits]
    assert [translation.finished for translation in beyond] == [False] * 3


def test_invalid_targets_are_refused_with_their_index() -> None:
    with pytest.raises(InputError, match=r"targets\[0\] has a lone surrogate"):
        echo()[0].score(["a"], ["\udc00"])


def test_more_sources_than_targets_are_refused() -> None:
    with pytest.raises(InputError, match="there are 2 sources and 1 targets"):
        echo()[0].score(["a", "b"], ["c"])


def test_a_too_long_pair_scores_minus_infinity(random_run: Path, caplog: pytest.LogCaptureFixture) -> None:
    too_long = "a" * 100
    sources = ["abc", too_long, "abc"]
    targets = ["abc", "abc", too_long]
    scored = Translator.load(random_run).score(sources, targets)
    assert [translation.score > -1e9 for translation in scored] == [True, False, False]
    assert caplog.messages == ["2 of 3 pairs are too long for the model to score"]
