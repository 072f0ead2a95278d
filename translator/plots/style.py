"""The style that all pictures share: colours, fonts, sizes, legends and labels."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from translator.run.arabic_shaping import FONT, WORD_START, shown_pieces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE_INCHES: Final = 7.6  # width of a picture that fills a page of the docs; font sizes suit it
TITLE_SIZE: Final = 9.5  # points
COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Distinguishable for colour-blind readers too (Okabe and Ito 2008)."""
FAINT: Final = "#DDDDDD"  # absent or forbidden entries
_STYLE: Final = {
    "font.family": FONT,
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": "#E4E4E4",
    "image.cmap": "viridis",  # lighter means more, also in greyscale
    "image.interpolation": "none",  # keeps cells sharp when a picture is enlarged
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "svg.hashsalt": "translator",
    "text.parse_math": False,  # dollar signs in names are literal
}


@contextlib.contextmanager
def house_style() -> Iterator[None]:
    """Draw in the style of the docs, independent of the user's matplotlibrc."""
    import matplotlib.style  # slow to import

    with matplotlib.style.context(["default", _STYLE]):
        yield


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure of this size in inches; pyplot would keep it in a global list."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


def colour_of(number: int) -> str:
    """Return the colour of the curve `number`, from 0; colours repeat when all are used."""
    return COLOURS[number % len(COLOURS)]


def draw_legend(figure: "Figure", colours: Mapping[str, str]) -> None:
    """Draw a legend of the colours, by label, below the picture."""
    from matplotlib.patches import Patch

    handles = [Patch(color=colour, label=label) for label, colour in colours.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)


def as_label(text: str) -> str:
    """Return `text` as a label: Persian joined and right to left, without characters missing in the font."""
    return shown_pieces([WORD_START + text])[0]


def distinct_names(paths: Sequence[Path]) -> list[str]:
    """Return a short name for each path: its last part, or the whole path if two last parts are equal."""
    last_parts = [path.resolve().name for path in paths]
    names = []
    for path, last_part in zip(paths, last_parts, strict=True):
        names.append(str(path) if last_parts.count(last_part) > 1 else last_part)
    return names
