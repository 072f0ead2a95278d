"""Examples of dropped pairs: from all over a source, and the same however the work was divided."""

import pickle
import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.corpus.examples import EXAMPLES, Example, ExampleCollector, places_to_show, rank, ranks

LINES = [(rule, line) for line in range(1, 400) for rule in (("empty",) if line % 3 else ("numbers",))]


def gather(lines: list[tuple[str, int]], name: str = "mizan") -> ExampleCollector:
    collector = ExampleCollector(name)
    for rule, line in lines:
        collector.add(rule, line, f"source {line}", f"target {line}")
    return collector


@settings(deadline=None)
@given(seed=st.integers(0, 2**32), parts=st.integers(1, 9))
def test_the_same_whatever_the_chunks_and_their_order(seed: int, parts: int) -> None:
    generator = random.Random(seed)
    lines = generator.sample(LINES, len(LINES))
    chunks = [lines[start::parts] for start in range(parts)]
    merged = ExampleCollector("mizan")
    for chunk in chunks:
        merged.merge(gather(chunk))
    assert list(merged.chosen().items()) == list(gather(LINES).chosen().items())


def test_those_of_the_smallest_rank_in_the_order_of_their_lines() -> None:
    chosen = gather(LINES).chosen()
    assert list(chosen) == ["empty", "numbers"]
    for rule, examples in chosen.items():
        lines = [line for name, line in LINES if name == rule]
        assert [one.line for one in examples] == sorted(sorted(lines, key=lambda line: rank("mizan", line))[:EXAMPLES])
        assert all(one.source == f"source {one.line}" and one.target == f"target {one.line}" for one in examples)


def test_spread_over_the_source_and_other_for_another_source() -> None:
    lines = [("empty", line) for line in range(1, 3000)]
    places = {name: tuple(one.line for one in gather(lines, name).chosen()["empty"]) for name in map(str, range(60))}
    assert len(set(places.values())) == 60
    thirds = [line // 1000 for chosen in places.values() for line in chosen]
    assert all(30 <= thirds.count(third) <= 90 for third in range(3))


def test_few_are_all_shown() -> None:
    assert [one.line for one in gather([("empty", 7), ("empty", 3)]).chosen()["empty"]] == [3, 7]
    assert ExampleCollector("mizan").chosen() == {}


@settings(deadline=None)
@given(st.lists(st.integers(0, 2**63 - 1), max_size=30, unique=True), st.text(max_size=5))
def test_arrays_are_ranked_as_single_lines_are(lines: list[int], name: str) -> None:
    array = np.array(lines, dtype=np.int64)
    assert ranks(name, array).tolist() == [rank(name, line) for line in lines]
    collector = ExampleCollector(name)
    for line in lines:
        collector.add("empty", line, "", "")
    chosen = [one.line for one in collector.chosen().get("empty", ())]
    assert sorted(array[places_to_show(name, array)].tolist()) == chosen


def test_equal_line_numbers_are_told_apart_by_their_text() -> None:
    """The files of a folder are numbered anew each."""
    texts = ["c", "a", "b", "d"]
    collectors = [ExampleCollector("folder") for _ in range(2)]
    for collector, order in zip(collectors, (texts, texts[::-1]), strict=True):
        for text in order:
            collector.add("empty", 1, text, "")
    assert collectors[0].chosen() == collectors[1].chosen()
    assert [one.source for one in collectors[0].chosen()["empty"]] == ["a", "b", "c"]


def test_long_text_is_cut_and_says_so() -> None:
    whole, long = "ب" * 300, "a" * 301
    assert Example.of(1, long, whole) == Example(1, "a" * 299 + "…", whole)


def test_a_collector_can_be_sent_to_another_process() -> None:
    collector = pickle.loads(pickle.dumps(gather(LINES)))  # noqa: S301  # our own
    assert collector.chosen() == gather(LINES).chosen()
