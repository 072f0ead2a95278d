"""The style that all pictures share, and their files."""

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import matplotlib.style
from matplotlib.figure import Figure

from translator.errors import InputError
from translator.run.output_paths import refuse_input_as_output, write_output
from translator.run.piece_labels import FONT

PAGE_INCHES: Final = 7.6  # width of a picture that fills a page of the docs; font sizes suit it
_COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Distinguishable for colour-blind readers too (Okabe and Ito 2008)."""
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
_DOTS_PER_INCH: Final = 150
_MARGIN_INCHES: Final = 0.08
# Without these entries, which name the program and the time, the same figure gives the same bytes.
_LEFT_OUT_METADATA: Final = {".png": ("Software",), ".svg": ("Creator", "Date")}


@contextlib.contextmanager
def house_style() -> Iterator[None]:
    """Draw in the style of the docs, independent of the user's matplotlibrc."""
    with matplotlib.style.context(["default", _STYLE]):
        yield


def colour_of(number: int) -> str:
    """Return the colour of the curve `number`, from 0; colours repeat when all are used."""
    return _COLOURS[number % len(_COLOURS)]


def check_picture(path: Path) -> None:
    """Raise InputError or StorageError if a picture cannot be written to `path`."""
    if path.suffix.lower() not in _LEFT_OUT_METADATA:
        raise InputError(f"the name of the picture {path} must end in .png or .svg")
    refuse_input_as_output([], path)


@house_style()
def write_picture(figure: Figure, path: Path) -> None:
    """Write `figure` as PNG or SVG, by the ending of `path`, atomically; the same figure gives the same bytes."""
    ending = path.suffix.lower()
    content = io.BytesIO()
    figure.savefig(
        content,
        format=ending.removeprefix("."),
        dpi=_DOTS_PER_INCH,
        metadata=dict.fromkeys(_LEFT_OUT_METADATA[ending]),  # None leaves an entry out
        bbox_inches="tight",
        pad_inches=_MARGIN_INCHES,
    )
    write_output(path, content.getvalue())
