"""A sentence whose translation is a loop is searched again with blocked n-grams; all others stay as they are."""

from typing import Any

import pytest

from tests.support.echo_model import Words
from translator.config import SearchConfig
from translator.core.hypothesis import Hypothesis
from translator.errors import CheckpointError
from translator.inference.engines.searcher import Searcher
from translator.inference.text.loops import find_without_loops
from translator.search.request import SearchRequest

LOOP = "in in in in"
BETTER = "in in the garden"
GOOD = "in the garden"
BEAM = SearchConfig(beam_size=3)
Texts = list[list[str]]


class Scripted(Searcher):
    """An engine that finds given texts for each prefix, others if it blocks n-grams."""

    def __init__(self, free: Texts, blocked: Texts) -> None:
        self.words = Words()
        self.texts = {False: free, True: blocked}
        self.blocked_rows: list[int] = []

    def find(self, request: SearchRequest) -> list[list[Hypothesis]]:
        blocks = request.config.no_repeat_ngram == 2 and request.no_doubles
        rows = [prefix[0] for prefix in request.prefixes]
        if blocks:
            self.blocked_rows += rows
        found = []
        for row in rows:
            tokens = self.words.encode(self.texts[blocks][row])
            found.append([Hypothesis(tuple(ids), 0.0, 0.0, finished=True) for ids in tokens])
        return found

    def score(self, *arguments: Any) -> Any:
        raise NotImplementedError

    def cross_attention(self, *arguments: Any) -> Any:
        raise NotImplementedError


def find(searcher: Scripted, config: SearchConfig) -> Texts:
    """Search a row for each list of texts that the engine finds."""
    pair: Any = type("Pair", (), {"source": searcher.words, "target": searcher.words})
    numbers = range(len(searcher.texts[False]))
    rows = searcher.words.encode(["the garden" for _ in numbers])
    found = find_without_loops(searcher, pair, SearchRequest(rows, config, 2, [[number] for number in numbers]))
    return [searcher.words.decode_ids([hypothesis.tokens for hypothesis in of_row]) for of_row in found]


def test_a_row_without_hypotheses_tells_of_probabilities_that_are_nan() -> None:
    with pytest.raises(CheckpointError, match=r"probabilities are not numbers .* use an earlier checkpoint"):
        find(Scripted([[GOOD], []], []), BEAM)


@pytest.mark.parametrize(
    ("config", "free", "blocked", "blocked_rows", "expected"),
    [
        (BEAM, [[GOOD], [LOOP], [GOOD]], [[], [BETTER], []], [1], [[GOOD], [BETTER], [GOOD]]),
        (BEAM, [[LOOP, GOOD]], [[BETTER, LOOP]], [0], [[BETTER, LOOP]]),
        (BEAM, [[BETTER, GOOD]], [[BETTER]], [0], [[BETTER, GOOD]]),  # it has as many looping words
        (BEAM.model_copy(update={"avoid_loops": False}), [[LOOP]], [], [], [[LOOP]]),
        (SearchConfig(method="sampling"), [[LOOP]], [], [], [[LOOP]]),
    ],
    ids=["only loops", "the list", "no better", "off", "samples"],
)
def test_loops_are_searched_again_and_what_has_fewer_looping_words_is_taken(
    config: SearchConfig, free: Texts, blocked: Texts, blocked_rows: list[int], expected: Texts
) -> None:
    searcher = Scripted(free, blocked)
    assert find(searcher, config) == expected
    assert searcher.blocked_rows == blocked_rows
