"""A sentence whose translation is a loop is searched again with blocked n-grams; all others keep what was found."""

from typing import Any

import pytest
from echo_model import Words

from translator.config import SearchConfig
from translator.inference.loops import find_without_loops
from translator.inference.searcher import Searcher
from translator.search.hypothesis import Hypothesis

LOOP, BETTER, GOOD = "in in in in", "in in the garden", "in the garden"


class Scripted(Searcher):
    """An engine that finds one given list without blocking and another with it, and records its calls."""

    def __init__(self, words: Words, free: list[list[str]], blocked: list[list[str]]) -> None:
        self.words, self.lists = words, {False: free, True: blocked}
        self.calls: list[Any] = []

    def find(self, rows: Any, config: SearchConfig, count: int = 1, *arguments: Any, **named: Any) -> Any:
        blocking = config.no_repeat_ngram == 2 and named["no_doubles"]
        self.calls.append((len(rows), blocking, count, arguments[0]))
        lists = self.lists[blocking]
        return [[Hypothesis(tuple(ids), 0.0, 0.0, True) for ids in self.words.encode(texts)[:count]] for texts in lists]

    def score(self, *arguments: Any) -> Any:
        raise NotImplementedError


def found_with(
    free: list[list[str]], blocked: list[list[str]], config: SearchConfig, count: int = 1
) -> tuple[list[list[str]], list[Any]]:
    """Return the texts that are found, and the engine's calls: rows, blocking or not, hypotheses and prefixes."""
    words: Any = Words()
    pair: Any = type("Pair", (), {"source": words, "target": words})
    searcher = Scripted(words, free, blocked)
    rows = words.encode(["the garden"] * len(free))
    prefixes = [[number] for number in range(len(rows))]
    found = find_without_loops(searcher, pair, rows, config, count, prefixes)
    return [words.decode_ids([one.tokens for one in hypotheses]) for hypotheses in found], searcher.calls


BEAM = SearchConfig(beam_size=3)


def test_only_loops_are_searched_again() -> None:
    found, calls = found_with([[GOOD], [LOOP], [GOOD]], [[GOOD]], BEAM)
    assert found == [[GOOD]] * 3
    assert calls == [(3, False, 1, [[0], [1], [2]]), (1, True, 1, [[1]])]


def test_the_second_list_replaces_the_first_if_its_best_has_fewer_looping_words() -> None:
    found, _ = found_with([[LOOP, GOOD]], [[BETTER, LOOP]], BEAM, count=2)
    assert found == [[BETTER, LOOP]]


def test_a_loop_stays_if_the_second_search_finds_nothing_better() -> None:
    found, _ = found_with([[BETTER, GOOD]], [[BETTER]], BEAM, count=2)
    assert found == [[BETTER, GOOD]]


@pytest.mark.parametrize("config", [SearchConfig(avoid_loops=False), SearchConfig(method="sampling")])
def test_samples_and_a_search_that_may_loop_are_left_alone(config: SearchConfig) -> None:
    found, calls = found_with([[LOOP]], [[GOOD]], config)
    assert (found, len(calls)) == ([[LOOP]], 1)
