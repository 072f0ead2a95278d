"""Schedules against the formulas of their papers, by steps and by the clock."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.core.optimizer import COSINE_FLOOR, ScheduleSettings, learning_rate

SCHEDULES = pytest.mark.parametrize("schedule", ["inverse_sqrt", "cosine", "constant"])


def scheduled(schedule: Any, warmup: int = 100, steps: int = 1000, minutes: float | None = None) -> ScheduleSettings:
    return ScheduleSettings(1e-3, schedule, warmup_steps=warmup, max_steps=steps, minutes=minutes)


BY_STEPS = scheduled("cosine")
BY_MINUTES = scheduled("cosine", minutes=10.0)
"""Planned for 1,000 steps of 0.6 seconds."""


def test_inverse_sqrt_schedule_matches_vaswani_et_al() -> None:
    """Their rate is D^-½ · min(step^-½, step · warmup^-1.5) (§5.3), with a peak of (D · warmup)^-½."""
    warmup, d_model = 4000, 512
    settings = ScheduleSettings((d_model * warmup) ** -0.5, "inverse_sqrt", warmup_steps=warmup)
    for step in (1, 100, 3999, 4000, 4001, 25_000, 100_000):
        expected = d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
        assert learning_rate(step, settings) == pytest.approx(expected, rel=1e-12)


@SCHEDULES
@given(warmup=st.integers(1, 5000), step=st.integers(1, 5000))
def test_every_schedule_warms_up_linearly_to_the_peak(schedule: str, warmup: int, step: int) -> None:
    step = min(step, warmup)
    rate = learning_rate(step, scheduled(schedule, warmup, steps=10_000))
    assert rate == pytest.approx(1e-3 * step / warmup, rel=1e-12)


@SCHEDULES
def test_without_warm_up_the_first_update_has_the_peak(schedule: str) -> None:
    assert learning_rate(1, scheduled(schedule, warmup=0)) == pytest.approx(1e-3, rel=1e-5)


def test_cosine_falls_from_the_peak_to_its_floor() -> None:
    # At the end of the warm-up, in the middle of the fall, at its end, and after it.
    rates = [learning_rate(step, BY_STEPS) / 1e-3 for step in (100, 550, 1000, 5000)]
    assert rates == pytest.approx([1, (1 + COSINE_FLOOR) / 2, COSINE_FLOOR, COSINE_FLOOR])


def test_a_constant_rate_stays_at_the_peak() -> None:
    rates = [learning_rate(step, scheduled("constant")) for step in (100, 550, 1000, 5000)]
    assert rates == [1e-3] * 4


def test_cosine_by_minutes_ends_on_time_on_a_slow_machine() -> None:
    """After 500 steps, a machine of half the planned speed is where the plan is after 1,000."""
    assert learning_rate(500, BY_MINUTES, 600.0) == pytest.approx(1e-3 * COSINE_FLOOR)
    for step in range(100, 501, 50):
        planned_rate = learning_rate(2 * step, BY_STEPS)
        assert learning_rate(step, BY_MINUTES, 1.2 * step) == pytest.approx(planned_rate)


@given(st.integers(1, 1000), st.floats(0.0, 1.0))
def test_cosine_by_minutes_equals_cosine_by_steps_on_a_fast_machine(step: int, lead: float) -> None:
    seconds = 0.6 * step * lead
    assert learning_rate(step, BY_MINUTES, seconds) == learning_rate(step, BY_STEPS)


@SCHEDULES
@given(warmup=st.integers(0, 50), steps=st.integers(1, 300), step=st.integers(1, 500))
def test_the_rate_is_positive_and_never_above_the_peak(schedule: str, warmup: int, steps: int, step: int) -> None:
    settings = scheduled(schedule, warmup, steps)
    rate = learning_rate(step, settings)
    assert 0 < rate <= 1e-3 * (1 + 1e-12)
    assert step <= warmup or learning_rate(step + 1, settings) <= rate
