"""Plots as PNG or SVG. This module has their common parts: style, labels, and writing."""

import contextlib
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from translator.errors import InputError
from translator.run.storage import resolve_output, write_output
from translator.run.text import FONT, WORD_START, shown_pieces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE_INCHES: Final = 7.6  # width of a picture that fills a page of the docs; font sizes suit it
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


def draw_legend(figure: "Figure", colours: Mapping[str, str]) -> None:
    """Draw a legend of the colours below the picture."""
    from matplotlib.patches import Patch

    handles = [Patch(color=colour, label=label) for label, colour in colours.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)


def check_picture(path: Path) -> None:
    """Raise InputError or StorageError if a picture cannot be written to `path`."""
    endings = (".png", ".svg")
    if path.suffix.lower() not in endings:
        raise InputError(f"the name of the picture {path} must end in .png or .svg")
    place = resolve_output(path)
    if path.is_symlink() and isinstance(place, Path) and place.suffix.lower() not in endings:
        raise InputError(f"{path} is a link to {place}, which is no picture; give another output")


@house_style()
def write_picture(figure: "Figure", path: Path) -> None:
    """Write `figure` as PNG or SVG, by the ending of `path`, atomically; the same figure gives the same bytes."""
    check_picture(path)
    page, ending = io.BytesIO(), path.suffix.lower()
    metadata = {"Software": None} if ending == ".png" else {"Creator": None, "Date": None}
    figure.savefig(page, format=ending[1:], dpi=150, metadata=metadata, bbox_inches="tight", pad_inches=0.08)
    write_output(path, page.getvalue())


def shown(text: str) -> str:
    """Return `text` as a label: Persian joined and right to left, without characters missing in the font."""
    return shown_pieces([WORD_START + text])[0]


def distinct(paths: Sequence[Path]) -> list[str]:
    """Return a short name for each path: its last part, or the whole path if two last parts are equal."""
    names = [path.resolve().name for path in paths]
    return [str(path) if names.count(name) > 1 else name for path, name in zip(paths, names, strict=True)]
