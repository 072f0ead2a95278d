"""The length penalties and the bound that stops a beam."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from translator.config import SearchConfig
from translator.search import AveragePenalty, GnmtPenalty, LengthPenalty

KINDS = st.sampled_from([GnmtPenalty, AveragePenalty])


def test_the_formula_of_wu_et_al() -> None:
    assert GnmtPenalty(0.7).divisor(1.0) == 1.0
    assert GnmtPenalty(1.0).divisor(7.0) == pytest.approx(2.0)
    assert GnmtPenalty(0.5).divisor(19.0) == pytest.approx(2.0)
    assert GnmtPenalty(0.0).divisor(100.0) == 1.0


def test_the_average() -> None:
    assert AveragePenalty(1.0).normalized(-6.0, 4.0) == -1.5
    assert AveragePenalty(0.5).divisor(9.0) == pytest.approx(3.0)
    assert AveragePenalty(0.0).divisor(9.0) == 1.0


def test_the_configuration_chooses() -> None:
    assert LengthPenalty.of(SearchConfig(length_penalty=0.3)) == GnmtPenalty(0.3)
    average = LengthPenalty.of(SearchConfig(length_normalization="average"))
    assert isinstance(average, AveragePenalty) and average.alpha == 1.0


@given(
    KINDS,
    st.floats(-50, 0),
    st.lists(st.floats(-5, 0), min_size=1, max_size=20),
    st.integers(1, 20),
    st.floats(0, 3),
)
def test_no_continuation_beats_the_bound(
    kind: type[LengthPenalty], score: float, further: list[float], so_far: int, alpha: float
) -> None:
    penalty = kind(alpha)
    bound = penalty.best_reachable(score, float(so_far + len(further)))
    for count in range(1, len(further) + 1):
        assert penalty.normalized(score + sum(further[:count]), float(so_far + count)) <= bound + 1e-9


def test_the_bound_is_reached_by_certain_tokens_up_to_the_longest_length() -> None:
    assert GnmtPenalty(1.0).best_reachable(-3.0, 13.0) == pytest.approx(-1.0)
    assert AveragePenalty(1.0).best_reachable(-3.0, 6.0) == pytest.approx(-0.5)


@given(KINDS, st.floats(0, 3), st.lists(st.integers(1, 100), min_size=1, max_size=5))
def test_tensors_are_divided_as_numbers_are(kind: type[LengthPenalty], alpha: float, lengths: list[int]) -> None:
    penalty = kind(alpha)
    together = penalty.divisor(torch.tensor(lengths, dtype=torch.float64)).tolist()
    assert together == pytest.approx([penalty.divisor(float(length)) for length in lengths])
