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


class Scripted(Searcher):
    """An engine that finds given texts for each prefix, others if it blocks n-grams, and records its calls."""

    def __init__(self, free: list[list[str]], blocked: list[list[str]]) -> None:
        self.words = Words()
        self.texts = {False: free, True: blocked}
        self.calls: list[tuple[bool, list[int]]] = []  # whether it blocked, and which rows it searched

    def find(self, request: SearchRequest) -> list[list[Hypothesis]]:
        blocks = request.config.no_repeat_ngram == 2 and request.no_doubles
        rows = [prefix[0] for prefix in request.prefixes]
        self.calls.append((blocks, rows))
        found = []
        for row in rows:
            tokens = self.words.encode(self.texts[blocks][row])
            found.append([Hypothesis(tuple(ids), 0.0, 0.0, finished=True) for ids in tokens[: request.count]])
        return found

    def score(self, *arguments: Any) -> Any:
        raise NotImplementedError


def find(searcher: Scripted, config: SearchConfig = BEAM, count: int = 1) -> list[list[str]]:
    """Search a row for each list of texts that the engine finds."""
    pair: Any = type("Pair", (), {"source": searcher.words, "target": searcher.words})
    numbers = range(len(searcher.texts[False]))
    rows = searcher.words.encode(["the garden" for _ in numbers])
    request = SearchRequest(rows, config, count, [[number] for number in numbers])
    found = find_without_loops(searcher, pair, request)
    return [searcher.words.decode_ids([hypothesis.tokens for hypothesis in of_row]) for of_row in found]


def test_a_row_without_hypotheses_tells_of_probabilities_that_are_nan() -> None:
    with pytest.raises(CheckpointError, match=r"probabilities are not numbers .* use an earlier checkpoint"):
        find(Scripted([[GOOD], []], []))


def test_only_loops_are_searched_again() -> None:
    searcher = Scripted([[GOOD], [LOOP], [GOOD]], [[], [BETTER], []])
    assert find(searcher) == [[GOOD], [BETTER], [GOOD]]
    assert searcher.calls == [(False, [0, 1, 2]), (True, [1])]


@pytest.mark.parametrize(
    ("free", "blocked", "expected"),
    [([LOOP, GOOD], [BETTER, LOOP], [BETTER, LOOP]), ([BETTER, GOOD], [BETTER], [BETTER, GOOD])],
)
def test_the_second_list_is_taken_if_its_best_has_fewer_looping_words(
    free: list[str], blocked: list[str], expected: list[str]
) -> None:
    assert find(Scripted([free], [blocked]), count=2) == [expected]


@pytest.mark.parametrize("config", [SearchConfig(avoid_loops=False), SearchConfig(method="sampling")])
def test_samples_and_a_search_that_may_loop_are_left_alone(config: SearchConfig) -> None:
    searcher = Scripted([[LOOP]], [[GOOD]])
    assert find(searcher, config) == [[LOOP]]
    assert len(searcher.calls) == 1
