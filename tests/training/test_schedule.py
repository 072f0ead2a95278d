"""The learning rate at every step."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.config import TrainingConfig
from translator.training.schedule import COSINE_FLOOR, drops, learning_rate


def config(schedule: str, warmup: int = 100, steps: int = 1000) -> TrainingConfig:
    return TrainingConfig.model_validate(
        {"schedule": schedule, "warmup_steps": warmup, "max_steps": steps, "learning_rate": 1e-3}
    )


@pytest.mark.parametrize("schedule", ["inverse_sqrt", "cosine", "constant"])
def test_warm_up_is_linear_and_ends_at_the_peak(schedule: str) -> None:
    settings = config(schedule)
    assert learning_rate(1, settings) == pytest.approx(1e-5)
    assert learning_rate(50, settings) == pytest.approx(5e-4)
    assert learning_rate(100, settings) == pytest.approx(1e-3)


def test_the_figures_of_vaswani_et_al() -> None:
    """Their rate is D^-½ · min(step^-½, step · warmup^-1.5) (§5.3), with a peak of (D · warmup)^-½."""
    warmup, d_model = 4000, 512
    settings = TrainingConfig(learning_rate=(d_model * warmup) ** -0.5, warmup_steps=warmup)
    for step in (1, 100, 3999, 4000, 4001, 25_000, 100_000):
        expected = d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
        assert learning_rate(step, settings) == pytest.approx(expected, rel=1e-12)
    assert learning_rate(warmup, TrainingConfig()) == pytest.approx(7e-4)  # our default, and theirs in one digit
    assert round(settings.learning_rate, 4) == 7e-4


@pytest.mark.parametrize("schedule", ["inverse_sqrt", "cosine", "constant"])
def test_without_warm_up_the_first_update_has_nearly_the_peak(schedule: str) -> None:
    assert learning_rate(1, config(schedule, warmup=0)) == pytest.approx(1e-3, rel=1e-4)


@pytest.mark.parametrize("schedule", ["inverse_sqrt", "cosine", "constant"])
def test_the_end_of_the_warm_up_is_no_jump(schedule: str) -> None:
    settings = config(schedule, warmup=400, steps=4000)
    for step in (399, 400, 401):
        assert learning_rate(step, settings) == pytest.approx(1e-3, rel=3e-3)


def test_inverse_square_root() -> None:
    settings = config("inverse_sqrt")
    assert learning_rate(400, settings) == pytest.approx(5e-4)
    assert learning_rate(900, settings) == pytest.approx(1e-3 / 3)


def test_cosine_falls_to_its_floor() -> None:
    settings = config("cosine")
    assert learning_rate(550, settings) == pytest.approx(1e-3 * (1 + COSINE_FLOOR) / 2)
    assert learning_rate(1000, settings) == pytest.approx(1e-3 * COSINE_FLOOR)
    assert learning_rate(5000, settings) == pytest.approx(1e-3 * COSINE_FLOOR)


def by_minutes(warmup: int = 100, steps: int = 1000, minutes: float = 10.0) -> TrainingConfig:
    return config("cosine", warmup, steps).model_copy(update={"schedule_clock": "minutes", "max_minutes": minutes})


def test_on_a_slow_machine_the_cosine_ends_with_the_minutes() -> None:
    """A machine at half the speed is after 500 steps where the plan is after 1,000."""
    slow, planned = by_minutes(), config("cosine")
    assert learning_rate(500, slow, 600.0) == pytest.approx(1e-3 * COSINE_FLOOR)
    for step in range(100, 501, 50):
        assert learning_rate(step, slow, 1.2 * step) == pytest.approx(learning_rate(2 * step, planned))
    assert learning_rate(300, slow, 0.6 * 800) == learning_rate(800, planned)  # a slow hour is made up for at once
    assert learning_rate(500, planned, 600.0) == learning_rate(500, planned)  # and by steps the time is nothing


@given(st.integers(1, 1000), st.floats(0.0, 1.0))
def test_a_machine_that_keeps_up_has_the_rates_of_steps(step: int, lead: float) -> None:
    seconds = 0.6 * step * lead
    assert learning_rate(step, by_minutes(), seconds) == learning_rate(step, config("cosine"))


def test_time_that_is_over_in_the_warm_up_is_no_jump() -> None:
    slow = by_minutes(warmup=400, steps=1000)
    rates = [learning_rate(step, slow, 1.2 * step) for step in range(1, 501)]
    assert max(abs(after - before) for before, after in itertools.pairwise(rates)) < 1e-5
    assert max(rates) < 1e-3
    assert rates[-1] == pytest.approx(1e-3 * COSINE_FLOOR)


@given(st.integers(1, 1000), st.integers(0, 1200), st.floats(0.0, 2000.0))
def test_dropout_begins_at_its_place_in_the_plan(step: int, begins: int, seconds: float) -> None:
    by_time = by_minutes().model_copy(update={"dropout_from": begins})
    by_steps = config("cosine").model_copy(update={"dropout_from": begins})
    assert drops(step, by_steps, seconds) == (step >= begins)
    assert drops(step, by_time, seconds) == (step >= begins or 1000 * seconds / 600.0 >= begins)


def test_constant_stays() -> None:
    assert learning_rate(777, config("constant")) == pytest.approx(1e-3)


@given(
    st.sampled_from(["inverse_sqrt", "cosine", "constant"]),
    st.integers(0, 50),
    st.integers(1, 300),
    st.integers(1, 500),
)
def test_the_rate_is_positive_and_never_above_the_peak(schedule: str, warmup: int, steps: int, step: int) -> None:
    rate = learning_rate(step, config(schedule, warmup, steps))
    assert 0 < rate <= 1e-3 * (1 + 1e-12)
    assert math.isfinite(rate)
    if step > warmup:
        assert learning_rate(step + 1, config(schedule, warmup, steps)) <= rate
