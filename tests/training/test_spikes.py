"""Which steps are marked as spikes, and that the running mean survives a checkpoint to the bit."""

import json
import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.training.meter import StepLosses
from translator.training.spikes import LossSpikes


def steps(losses: list[float], first: int = 1) -> list[StepLosses]:
    """Steps with these mean losses, of two sentences each."""
    tokens, numbers = np.array([2, 2]), np.array([40, 41])
    return [
        StepLosses(step, loss, np.array([loss, 3 * loss]), tokens, numbers)
        for step, loss in enumerate(losses, start=first)
    ]


def falling(count: int) -> list[float]:
    """A loss that falls with noise, as in training."""
    noise = random.Random(1)
    return [3.0 + 6.0 * math.exp(-step / 60) + noise.gauss(0, 0.05) for step in range(count)]


def test_a_falling_loss_with_noise_has_no_spikes() -> None:
    assert LossSpikes().find(steps(falling(1000))) == []


def test_a_jump_is_marked_with_its_hardest_pairs() -> None:
    losses = falling(700)
    losses[600] = 5.0
    (spike,) = LossSpikes().find(steps(losses))
    assert (spike.step, spike.loss) == (601, 5.0)
    assert spike.mean == pytest.approx(3.0, abs=0.1)
    assert spike.worst == [(41, 7.5), (40, 2.5)]
    assert spike.line == (
        f"loss spike at step 601: 5.000 after {spike.mean:.3f}; hardest training pairs: 41 (7.50), 40 (2.50)"
    )


def test_one_spike_does_not_hide_the_next() -> None:
    losses = falling(700)
    losses[600], losses[610] = 60.0, 6.0
    assert [spike.step for spike in LossSpikes().find(steps(losses))] == [601, 611]


def test_the_first_hundred_steps_are_only_learnt_from() -> None:
    losses = [3.0, 3.1] * 100
    losses[60] = 9.0
    assert LossSpikes().find(steps(losses)) == []


def test_a_small_jump_of_a_quiet_loss_is_none() -> None:
    losses = [3.0] * 200 + [3.5] + [3.0] * 10
    assert LossSpikes().find(steps(losses)) == [], "many deviations, but less than a fifth"
    losses[200] = 3.7
    assert [spike.step for spike in LossSpikes().find(steps(losses))] == [201]


def test_a_skipped_update_changes_nothing() -> None:
    plain, skipping = LossSpikes(), LossSpikes()
    plain.find(steps(falling(50)))
    skipping.find([*steps(falling(50)), *steps([math.nan, math.inf])])
    assert plain == skipping


@given(st.lists(st.floats(0.01, 20), max_size=60), st.integers(0, 60))
def test_going_on_from_a_checkpoint_is_exact(losses: list[float], cut: int) -> None:
    whole, first = LossSpikes(), LossSpikes()
    whole.find(steps(losses))
    first.find(steps(losses[:cut]))
    second = LossSpikes(**json.loads(json.dumps(first.state_dict())))
    second.find(steps(losses[cut:]))
    assert second == whole
