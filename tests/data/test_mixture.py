"""The mixture of sources: shares follow weights and temperature; all pairs of a source are drawn equally often."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.data.mixture import epoch_draws, mixture_rows

Sources = list[tuple[int, float]]  # pairs and weight of each
SOURCES = st.lists(st.tuples(st.integers(0, 60), st.floats(1e-6, 1e6)), min_size=1, max_size=6).filter(
    lambda sources: any(pairs for pairs, _ in sources)
)


def draw_counts(sources: Sources, temperature: float = 1.0) -> list[int]:
    pairs = {str(number): count for number, (count, _) in enumerate(sources)}
    weights = {str(number): weight for number, (_, weight) in enumerate(sources)}
    return [row.drawn for row in mixture_rows(pairs, weights, temperature)]


@pytest.mark.parametrize(
    ("sources", "temperature", "expected"),
    [
        ([(100, 3), (300, 1)], 1, [200, 200]),
        ([(100, 1), (400, 1)], 2, [167, 333]),
        ([(90, 1), (910, 1)], 1000, [499, 501]),
    ],
)
def test_shares_follow_the_weights_and_a_temperature_evens_them_out(
    sources: Sources, temperature: float, expected: list[int]
) -> None:
    assert draw_counts(sources, temperature) == expected


@given(sources=SOURCES, temperature=st.floats(1, 20), seed=st.integers(0, 2**63), epoch_count=st.integers(1, 8))
def test_all_pairs_of_a_source_are_drawn_equally_often(
    sources: Sources, temperature: float, seed: int, epoch_count: int
) -> None:
    pairs = [count for count, _ in sources]
    usable = np.split(np.arange(sum(pairs), dtype=np.int64), np.cumsum(pairs)[:-1])
    counts = draw_counts(sources, temperature)
    # Each share is rounded, or is one instead of none.
    assert abs(sum(counts) - sum(pairs)) <= len(pairs)
    assert [count > 0 for count in counts] == [count > 0 for count in pairs]
    epochs = [epoch_draws(usable, counts, seed, epoch).pairs for epoch in range(epoch_count)]
    times = np.bincount(np.concatenate(epochs), minlength=sum(pairs))
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
