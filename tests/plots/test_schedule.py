"""The curve of the learning rate."""

import numpy as np
import pytest

from translator.config import TrainingConfig
from translator.plots.figure import shown
from translator.plots.schedule import drawn_steps, schedule_figure
from translator.training.schedule import learning_rate


def test_each_recipe_is_a_line_of_its_learning_rates() -> None:
    recipes = [
        ("a", TrainingConfig(max_steps=50, warmup_steps=7, learning_rate=1e-3)),
        ("ب", TrainingConfig(max_steps=20, warmup_steps=0, schedule="constant")),
    ]
    figure = schedule_figure(recipes)
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("update of the weights", "learning rate")
    assert len(axes.lines) == 2
    for line, (_, config) in zip(axes.lines, recipes, strict=True):
        expected = [(step, learning_rate(step, config)) for step in range(1, config.max_steps + 1)]
        assert np.array_equal(line.get_xydata(), expected)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == [
        f"{shown('a')}: inverse_sqrt, peak 0.001, warm-up of 7 updates",
        f"{shown('ب')}: constant, peak 0.0007, warm-up of 0 updates",
    ]


def test_a_schedule_that_minutes_may_end_says_so() -> None:
    config = TrainingConfig(schedule="cosine", schedule_clock="minutes", max_minutes=25, max_steps=10, warmup_steps=2)
    (label,) = schedule_figure([("a", config)]).legends[0].get_texts()
    assert label.get_text().endswith("warm-up of 2 updates, sooner if 25 minutes are over")


@pytest.mark.parametrize("warmup", [0, 1, 4321, 200_000])
def test_a_long_schedule_is_drawn_at_its_peak_and_at_both_ends(warmup: int) -> None:
    config = TrainingConfig(max_steps=100_000, warmup_steps=warmup)
    steps = drawn_steps(config)
    assert steps == sorted(set(steps))
    assert (steps[0], steps[-1]) == (1, 100_000)
    assert len(steps) <= 601
    highest = max(learning_rate(step, config) for step in range(1, 100_001))
    assert max(learning_rate(step, config) for step in steps) == highest
