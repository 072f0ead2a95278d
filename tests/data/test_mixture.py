"""The mixture of sources: shares follow weights and temperature; all pairs of a source are drawn equally often."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.data.batching import epoch_draws, mixture_rows
from translator.data.report import format_mixture

SOURCES = st.lists(st.tuples(st.integers(0, 60), st.floats(1e-6, 1e6)), min_size=1, max_size=6).filter(
    lambda sources: any(pairs for pairs, _ in sources)
)


def drawn(pairs: list[int], weights: list[float], temperature: float = 1.0) -> list[int]:
    names = [str(number) for number in range(len(pairs))]
    rows = mixture_rows(dict(zip(names, pairs, strict=True)), dict(zip(names, weights, strict=True)), temperature)
    assert [row.name for row in rows] == names
    assert sum(row.share for row in rows) == pytest.approx(1)
    return [row.drawn for row in rows]


@settings(deadline=None, max_examples=200)
@given(sources=SOURCES, temperature=st.floats(1, 1000))
def test_an_epoch_draws_as_many_pairs_as_exist_and_some_of_each_source(
    sources: list[tuple[int, float]], temperature: float
) -> None:
    pairs, weights = [count for count, _ in sources], [weight for _, weight in sources]
    counts = drawn(pairs, weights, temperature)
    assert sum(counts) == sum(pairs)
    assert [count > 0 for count in counts] == [count > 0 for count in pairs]


@settings(deadline=None, max_examples=200)
@given(
    pairs=st.lists(st.integers(0, 10**8), min_size=1, max_size=20).filter(any),
    weight=st.floats(5e-324, 1e6, exclude_min=False),
)
def test_equal_weights_at_temperature_one_draw_each_source_in_full(pairs: list[int], weight: float) -> None:
    assert drawn(pairs, [weight] * len(pairs)) == pairs


def test_shares_follow_the_weights_and_the_temperature() -> None:
    assert drawn([100, 300], [3, 1]) == [200, 200]
    assert drawn([100, 400], [1, 1], temperature=2) == [167, 333]
    assert drawn([90, 910], [1, 1], temperature=1000) == [499, 501]
    assert drawn([10, 10, 10], [1, 1, 2]) == [8, 7, 15], "the first of equal remainders gets what is left"
    assert drawn([1, 1, 98], [1, 1, 1e6]) == [1, 1, 98], "no source vanishes"


@settings(deadline=None, max_examples=200)
@given(
    sources=SOURCES,
    temperature=st.floats(1, 20),
    seed=st.integers(0, 2**63),
    first=st.integers(0, 50),
    epochs=st.integers(1, 8),
)
def test_all_pairs_of_a_source_are_drawn_equally_often(
    sources: list[tuple[int, float]], temperature: float, seed: int, first: int, epochs: int
) -> None:
    pairs, weights = [count for count, _ in sources], [weight for _, weight in sources]
    counts = drawn(pairs, weights, temperature)
    starts = np.cumsum([0, *pairs])
    usable = [np.arange(start, start + count) for start, count in zip(starts, pairs, strict=False)]
    shown: Counter[int] = Counter()
    for epoch in range(epochs):
        draws = epoch_draws(usable, counts, seed, epoch)
        assert (np.diff(draws) >= 0).all()
        assert [int(np.isin(draws, numbers).sum()) for numbers in usable] == counts
        shown.update(draws.tolist())
    for numbers in usable:
        times = [shown[int(number)] for number in numbers]
        assert not times or max(times) - min(times) <= 1
    assert epoch_draws(usable, counts, seed, first).tolist() == epoch_draws(usable, counts, seed, first).tolist()


def test_the_mixture_table_shows_shares_and_draws() -> None:
    rows = mixture_rows({"large": 900, "small": 100, "none": 0}, {"large": 1, "small": 3, "none": 1}, 1)
    lines = format_mixture(rows).split("\n")
    assert lines[0].split("  ")[0] == "source" and len(lines) == 5
    assert lines[2].split() == ["large", "900", "1", "75.00%", "750", "0.83", "times"]
    assert lines[3].split() == ["small", "100", "3", "25.00%", "250", "2.50", "times"]
    assert lines[4].split() == ["none", "0", "1", "0.00%", "0", "-"]
