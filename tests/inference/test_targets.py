"""What a model gives translations that are there already."""

import math
from typing import Any

import pytest
from untrained import untrained_run

from translator import Translator
from translator.config import SearchConfig


@pytest.mark.parametrize("method", ["greedy", "beam"])
def test_what_is_longer_than_the_search_may_go_is_not_finished(tiny: Any, method: Any) -> None:
    """The limit is that of the search itself, as far as it goes with a model that ends no sentence."""
    run = untrained_run(tiny())
    translator = Translator.load(run.path, search=SearchConfig(method=method, beam_size=2, max_length_ratio=0.5))
    sources = ["abc", "abc def", "hgf hgf hgf hgf"]
    stopped = [best[0] for best in translator.translations(sources)]
    assert not any(one.finished for one in stopped)
    for extra, finished in ((0, True), (1, False)):
        targets = ["a" * (one.tokens - 2 + extra) for one in stopped]  # a letter is a token, so are ▁ and EOS
        found = translator.score(sources, targets)
        assert [one.tokens - extra for one in found] == [one.tokens for one in stopped]
        assert [one.finished for one in found] == [finished] * len(sources)
        assert all(math.isfinite(one.score) for one in found)
