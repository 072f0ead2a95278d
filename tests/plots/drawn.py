"""What a figure shows, as arrays and lists."""

from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.cm import ScalarMappable
from matplotlib.lines import Line2D


def cells(image: ScalarMappable) -> npt.NDArray[Any]:
    """Return the numbers behind the colours of a map."""
    shown = image.get_array()
    assert shown is not None
    return np.asarray(shown)


def points(line: Line2D) -> list[list[float]]:
    """Return each point of a line, across and up."""
    found: list[list[float]] = np.asarray(line.get_xydata()).tolist()
    return found


def heights(line: Line2D) -> list[float]:
    """Return how high each point of a line is."""
    return [up for _, up in points(line)]
