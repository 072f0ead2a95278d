"""The picture of the learning rate over the updates of one recipe or several."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from translator.config import TrainingConfig
from translator.plots.figure import COLOURS, LINES, PAGE_INCHES, house_style, new_figure, shown
from translator.training.schedule import learning_rate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_POINTS: Final = 600
"""Updates that are drawn of a schedule, at most; the end of the warm-up is always one of them."""


@house_style()
def schedule_figure(recipes: Sequence[tuple[str, TrainingConfig]]) -> "Figure":
    """Return the picture of the learning rate at each update, from the first to `max_steps`, if no minutes end it.

    Args:
        recipes: name and settings of each.
    """
    figure = new_figure(PAGE_INCHES, 3.2 + 0.18 * len(recipes))
    axes = figure.add_subplot()
    for number, (name, config) in enumerate(recipes):
        steps = drawn_steps(config)
        axes.plot(
            steps,
            [learning_rate(step, config) for step in steps],
            color=COLOURS[number % len(COLOURS)],
            linestyle=LINES[number % len(LINES)],
            linewidth=1.8,
            label=f"{shown(name)}: {_described(config)}",
        )
    axes.set_xlabel("update of the weights")
    axes.set_ylabel("learning rate")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.grid(True)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:g}")
    figure.legend(loc="outside lower center")
    return figure


def drawn_steps(config: TrainingConfig) -> list[int]:
    """Return the updates whose learning rate is drawn, rising from 1."""
    even = np.linspace(1, config.max_steps, min(_POINTS, config.max_steps)).round().astype(int).tolist()
    return sorted({*even, min(max(config.warmup_steps, 1), config.max_steps)})


def _described(config: TrainingConfig) -> str:
    sooner = f", sooner if {config.max_minutes:g} minutes are over" if config.schedule_clock == "minutes" else ""
    return f"{config.schedule}, peak {config.learning_rate:g}, warm-up of {config.warmup_steps:,} updates{sooner}"
