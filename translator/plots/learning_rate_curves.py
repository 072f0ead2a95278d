"""The learning rate of recipes over their updates."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from translator.config import TrainingConfig
from translator.core.optimizer import learning_rate
from translator.plots.style import PAGE_INCHES, as_label, colour_of, house_style, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAX_POINTS: Final = 600  # of a curve


@house_style()
def schedule_figure(recipes: Mapping[str, TrainingConfig]) -> "Figure":
    """Return the picture of the learning rate of recipes, by name, from the first update to `max_steps`."""
    figure = new_figure(PAGE_INCHES, 3.2 + 0.18 * len(recipes))
    axes = figure.add_subplot()
    for number, (name, config) in enumerate(recipes.items()):
        steps = _drawn_steps(config)
        rates = [learning_rate(step, config.schedule_settings) for step in steps]
        axes.plot(steps, rates, color=colour_of(number), label=f"{as_label(name)}: {_description(config)}")
    axes.set(xlabel="update of the weights", ylabel="learning rate", xlim=(0, None), ylim=(0, None))
    axes.grid(True)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:g}")
    figure.legend(loc="outside lower center")
    return figure


def _drawn_steps(config: TrainingConfig) -> list[int]:
    """Return evenly spread steps, from 1, and the step at which the learning rate peaks."""
    spread_steps = np.linspace(1, config.max_steps, min(_MAX_POINTS, config.max_steps)).round().astype(int)
    peak = min(max(config.warmup_steps, 1), config.max_steps)
    return sorted({*spread_steps.tolist(), peak})


def _description(config: TrainingConfig) -> str:
    """Return the settings of the schedule in words."""
    text = f"{config.schedule}, peak {config.learning_rate:g}, warm-up of {config.warmup_steps:,} updates"
    if config.schedule_clock == "minutes":
        text += f", compressed into {config.max_minutes:g} minutes"
    return text
