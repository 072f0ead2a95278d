"""Scoring pairs: the log-probability of a given translation, as the search would have scored it."""

from pathlib import Path

import pytest

from tests.support.echo_model import echo
from translator import Translator
from translator.config import SearchConfig
from translator.errors import InputError


def test_score_gives_a_translation_the_score_that_search_gave_it(random_run: Path) -> None:
    search = SearchConfig(method="greedy", length_penalty=0.7, precision="float32")
    translator = Translator.load(random_run, engine="torch", search=search)
    sources = ["abc", "hgf", "ddd eee"]
    # With this prefix, the random model ends, and the pieces begin with ▁, as those of the encoded text do.
    translations = [best for (best,) in translator.translations(sources, prefixes=["d"] * 3)]
    targets = [translation.text for translation in translations]
    for translation, rescored in zip(translations, translator.score(sources, targets), strict=True):
        assert translation.finished
        assert rescored.tokens == translation.tokens
        assert rescored.score == pytest.approx(translation.score, abs=1e-4)
        assert rescored.normalized_score == pytest.approx(translation.normalized_score, abs=1e-4)


@pytest.mark.parametrize(
    ("targets", "message"),
    [(["c", "\udc00"], r"targets\[1\] has a lone surrogate"), (["c"], "there are 2 sources and 1 targets")],
)
def test_invalid_targets_are_refused(targets: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        echo()[0].score(["a", "b"], targets)


def test_a_too_long_pair_scores_minus_infinity(random_run: Path, caplog: pytest.LogCaptureFixture) -> None:
    too_long = "a" * 100
    sources = ["abc", too_long, "abc"]
    targets = ["abc", "abc", too_long]
    scored = Translator.load(random_run).score(sources, targets)
    assert [translation.score > -1e9 for translation in scored] == [True, False, False]
    assert caplog.messages == ["2 of 3 pairs are too long for the model to score"]
