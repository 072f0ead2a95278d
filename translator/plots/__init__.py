"""Pictures for people, as PNG or SVG. Here is what all of them share: style, labels, and writing."""

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

PAGE_INCHES: Final = 7.6  # width of a picture that fills a page of the docs; letters are sized for it
COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Distinguishable for colour-blind readers too (Okabe and Ito 2008)."""
FAINT: Final = "#DDDDDD"  # what is absent or not allowed
_STYLE: Final = {
    "font.family": FONT,
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": "#E4E4E4",
    "image.cmap": "viridis",  # lighter is more, in grey print too
    "image.interpolation": "none",  # a picture that is drawn larger must not blur its cells
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "svg.hashsalt": "translator",
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
}


@contextlib.contextmanager
def house_style() -> Iterator[None]:
    """Draw in the style of the docs, whatever the user's matplotlibrc says."""
    import matplotlib.style  # slow to import

    with matplotlib.style.context(["default", _STYLE]):
        yield


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure of so many inches; pyplot would keep it in a global list."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


def draw_legend(figure: "Figure", colours: Mapping[str, str]) -> None:
    """Write below the picture what its colours mean."""
    from matplotlib.patches import Patch

    handles = [Patch(color=colour, label=label) for label, colour in colours.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)


def check_picture(path: Path) -> None:
    """Raise an InputError or a StorageError if no picture can be written to `path`."""
    if path.suffix.lower() not in (".png", ".svg"):
        raise InputError(f"the name of the picture {path} must end in .png or .svg, which is its format")
    resolve_output(path)


@house_style()
def write_picture(figure: "Figure", path: Path) -> None:
    """Write `figure` as PNG or SVG, by the ending of `path`, atomically: the same figure gives the same bytes."""
    check_picture(path)
    page, ending = io.BytesIO(), path.suffix.lower()
    metadata = {"Software": None} if ending == ".png" else {"Creator": None, "Date": None}
    figure.savefig(page, format=ending[1:], dpi=150, metadata=metadata, bbox_inches="tight", pad_inches=0.08)
    write_output(path, page.getvalue())


def shown(text: str) -> str:
    """Return `text` as a label: Persian joined and from right to left, without characters that the font lacks."""
    return shown_pieces([WORD_START + text])[0]


def distinct(paths: Sequence[Path]) -> list[str]:
    """Return a short name for each path: its last part, or all of it where two last parts are equal."""
    names = [path.resolve().name for path in paths]
    return [str(path) if names.count(name) > 1 else name for path, name in zip(paths, names, strict=True)]
