"""A sentence whose translation is a loop is searched again with blocked n-grams; all others stay as they are."""

from typing import Any, NamedTuple

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


class Call(NamedTuple):
    """What the engine was asked to find."""

    rows: int
    blocking: bool
    hypotheses: int
    prefixes: list[list[int]]


class Scripted(Searcher):
    """An engine that finds one given list without blocking and another with it, and records its calls."""

    def __init__(self, words: Words, free: list[list[str]], blocked: list[list[str]]) -> None:
        self.words = words
        self.lists = {False: free, True: blocked}
        self.calls: list[Call] = []

    def find(self, request: SearchRequest) -> list[list[Hypothesis]]:
        blocking = request.config.no_repeat_ngram == 2 and request.no_doubles
        prefixes = [list(prefix) for prefix in request.prefixes]
        self.calls.append(Call(len(request.rows), blocking, request.count, prefixes))
        hypotheses_of_rows = []
        for texts in self.lists[blocking]:
            hypotheses = []
            for tokens in self.words.encode(texts)[: request.count]:
                hypotheses.append(Hypothesis(tuple(tokens), score=0.0, normalized_score=0.0, finished=True))
            hypotheses_of_rows.append(hypotheses)
        return hypotheses_of_rows

    def score(self, *arguments: Any) -> Any:
        raise NotImplementedError


class Search(NamedTuple):
    """What a search with an engine that may loop gives, and what the engine was asked."""

    texts: list[list[str]]
    calls: list[Call]


def find(free: list[list[str]], blocked: list[list[str]], config: SearchConfig, count: int = 1) -> Search:
    """Search rows for which the engine finds the texts of `free` at first, and those of `blocked` with blocking."""
    words: Any = Words()
    pair: Any = type("Pair", (), {"source": words, "target": words})
    searcher = Scripted(words, free, blocked)
    rows = words.encode(["the garden"] * len(free))
    prefixes = [[number] for number in range(len(rows))]
    texts = []
    for hypotheses in find_without_loops(searcher, pair, SearchRequest(rows, config, count, prefixes)):
        target_rows = [hypothesis.tokens for hypothesis in hypotheses]
        texts.append(words.decode_ids(target_rows))
    return Search(texts=texts, calls=searcher.calls)


BEAM = SearchConfig(beam_size=3)


def test_a_row_without_hypotheses_tells_of_probabilities_that_are_nan() -> None:
    with pytest.raises(CheckpointError, match=r"probabilities are not numbers .* use an earlier checkpoint"):
        find([[GOOD], []], [], BEAM)


def test_only_loops_are_searched_again() -> None:
    search = find([[GOOD], [LOOP], [GOOD]], [[GOOD]], BEAM)
    assert search.texts == [[GOOD]] * 3
    first = Call(rows=3, blocking=False, hypotheses=1, prefixes=[[0], [1], [2]])
    second = Call(rows=1, blocking=True, hypotheses=1, prefixes=[[1]])
    assert search.calls == [first, second]


def test_the_second_list_replaces_the_first_if_its_best_has_fewer_looping_words() -> None:
    search = find([[LOOP, GOOD]], [[BETTER, LOOP]], BEAM, count=2)
    assert search.texts == [[BETTER, LOOP]]


def test_a_loop_stays_if_the_second_search_finds_nothing_better() -> None:
    search = find([[BETTER, GOOD]], [[BETTER]], BEAM, count=2)
    assert search.texts == [[BETTER, GOOD]]


@pytest.mark.parametrize("config", [SearchConfig(avoid_loops=False), SearchConfig(method="sampling")])
def test_samples_and_a_search_that_may_loop_are_left_alone(config: SearchConfig) -> None:
    search = find([[LOOP]], [[GOOD]], config)
    assert search.texts == [[LOOP]]
    assert len(search.calls) == 1
