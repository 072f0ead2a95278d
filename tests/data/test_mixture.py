"""The mixture of sources: shares follow weights and temperature; all pairs of a source are drawn equally often."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.core.batch import Numbers
from translator.data.mixture import MixtureRow, epoch_draws, mixture_rows

SOURCES = st.lists(st.tuples(st.integers(0, 60), st.floats(1e-6, 1e6)), min_size=1, max_size=6).filter(
    lambda sources: any(pairs for pairs, _ in sources)
)


def mixture(pairs: list[int], weights: list[float], temperature: float = 1.0) -> list[MixtureRow]:
    names = [str(number) for number in range(len(pairs))]
    pairs_by_name = dict(zip(names, pairs, strict=True))
    weights_by_name = dict(zip(names, weights, strict=True))
    return mixture_rows(pairs_by_name, weights_by_name, temperature)


def draw_counts(pairs: list[int], weights: list[float], temperature: float = 1.0) -> list[int]:
    return [row.drawn for row in mixture(pairs, weights, temperature)]


@settings(deadline=None, max_examples=200)
@given(sources=SOURCES, temperature=st.floats(1, 1000))
def test_an_epoch_draws_about_as_many_pairs_as_exist(sources: list[tuple[int, float]], temperature: float) -> None:
    pairs = [count for count, _ in sources]
    weights = [weight for _, weight in sources]
    counts = draw_counts(pairs, weights, temperature)
    assert abs(sum(counts) - sum(pairs)) <= len(pairs)  # each is rounded, or is one instead of none


@settings(deadline=None, max_examples=200)
@given(sources=SOURCES, temperature=st.floats(1, 1000))
def test_an_epoch_draws_from_each_source_with_pairs(sources: list[tuple[int, float]], temperature: float) -> None:
    pairs = [count for count, _ in sources]
    weights = [weight for _, weight in sources]
    counts = draw_counts(pairs, weights, temperature)
    assert [count > 0 for count in counts] == [count > 0 for count in pairs]


@settings(deadline=None, max_examples=200)
@given(
    pairs=st.lists(st.integers(0, 10**8), min_size=1, max_size=20).filter(any),
    weight=st.floats(5e-324, 1e6, exclude_min=False),
)
def test_equal_weights_at_temperature_one_draw_each_source_in_full(pairs: list[int], weight: float) -> None:
    assert draw_counts(pairs, [weight] * len(pairs)) == pairs


def test_shares_follow_the_weights() -> None:
    assert draw_counts([100, 300], [3, 1]) == [200, 200]


@pytest.mark.parametrize(
    ("pairs", "temperature", "expected"), [([100, 400], 2, [167, 333]), ([90, 910], 1000, [499, 501])]
)
def test_a_temperature_evens_the_sources_out(pairs: list[int], temperature: float, expected: list[int]) -> None:
    assert draw_counts(pairs, [1, 1], temperature) == expected


# --- draws ---

EPOCHS = st.fixed_dictionaries(
    {
        "sources": SOURCES,
        "temperature": st.floats(1, 20),
        "seed": st.integers(0, 2**63),
        "epochs": st.integers(1, 8),
    }
)


class DrawnEpochs(NamedTuple):
    usable: list[Numbers]  # of each source
    counts: list[int]  # how many of them an epoch draws
    epochs: list[Numbers]  # the draws of each epoch


def drawn_epochs(case: dict[str, Any]) -> DrawnEpochs:
    pairs = [count for count, _ in case["sources"]]
    weights = [weight for _, weight in case["sources"]]
    counts = draw_counts(pairs, weights, case["temperature"])

    all_numbers = np.arange(sum(pairs), dtype=np.int64)
    ends = np.cumsum(pairs)
    usable = np.split(all_numbers, ends[:-1])

    epochs = [epoch_draws(usable, counts, case["seed"], epoch).pairs for epoch in range(case["epochs"])]
    return DrawnEpochs(usable=usable, counts=counts, epochs=epochs)


@settings(deadline=None, max_examples=200)
@given(case=EPOCHS)
def test_all_pairs_of_a_source_are_drawn_equally_often(case: dict[str, Any]) -> None:
    usable, _, epochs = drawn_epochs(case)
    times = np.bincount(np.concatenate(epochs), minlength=sum(map(len, usable)))
    for numbers in usable:
        if len(numbers):
            assert times[numbers].max() - times[numbers].min() <= 1


def test_the_draws_of_a_seed_never_change() -> None:
    # Resuming an old run after an upgrade needs the very same draws; a change here must be on purpose.
    usable = [np.arange(4, dtype=np.int64), np.arange(4, 10, dtype=np.int64)]
    first_epoch = epoch_draws(usable, draw_counts=[3, 7], seed=5, epoch=0)
    second_epoch = epoch_draws(usable, draw_counts=[3, 7], seed=5, epoch=1)
    assert first_epoch.repetitions.tolist() == [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    assert first_epoch.pairs.tolist() == [0, 1, 2, 4, 5, 6, 7, 8, 9, 9]
    assert second_epoch.pairs.tolist() == [1, 3, 3, 4, 4, 5, 6, 7, 8, 8]
