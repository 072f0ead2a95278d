"""What all pictures have in common: size, colours, letters, and how one comes to the disk."""

import contextlib
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from translator.errors import InputError
from translator.storage import check_writable, write_bytes
from translator.training.plots import FONT, WORD_START, shown_pieces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE_INCHES: Final = 7.6
"""Width of a picture that fills a page of the docs; letters are sized for it."""
DOTS_PER_INCH: Final = {"png": 150, "svg": 100}
"""In SVG of heat maps only, which are pictures inside of it."""
COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Told apart by colour-blind people too (Okabe and Ito 2008)."""
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")
LINES: Final = ("solid", "dashed", "dashdot", "dotted")
FAINT: Final = "#DDDDDD"
"""What is not there, or not allowed."""
SEQUENTIAL: Final = "viridis"
"""Colours of shares: lighter is more, in grey print too."""
DIVERGING: Final = "PuOr"
"""Colours of numbers on both sides of zero."""

LARGEST_PIXELS: Final = 30_000
"""Longer sides of a PNG are more than most programs open."""

_FORMATS: Final = {".png": "png", ".svg": "svg"}
# No date and no version: the same picture has the same bytes.
_METADATA: Final[dict[str, dict[str, str | None]]] = {
    "png": {"Software": None},
    "svg": {"Creator": None, "Date": None},
}
_STYLE: Final = {
    "font.family": FONT,
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": "#E4E4E4",
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "svg.hashsalt": "translator",
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
}


@contextlib.contextmanager
def house_style() -> Iterator[None]:
    """Draw inside as this house draws, whatever the user's own matplotlibrc says."""
    import matplotlib.style  # slow to import, as all of matplotlib, and only pictures need it

    with matplotlib.style.context(["default", _STYLE]):
        yield


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure of so many inches."""
    from matplotlib.figure import Figure

    # Not pyplot, which would open windows and keep every figure in a global list.
    return Figure(figsize=(width, height))


def check_picture(path: Path) -> None:
    """Make sure that a picture can be written to `path`, before the work that goes into it.

    Raises:
        InputError: its ending names no kind of picture.
        StorageError: its folder is not there or may not be written.
    """
    if path.suffix.lower() not in _FORMATS:
        ending = f"has the ending {path.suffix}" if path.suffix else "has no ending"
        raise InputError(
            f"the picture {path} {ending}, which names no kind of picture that can be drawn; end it in .png or .svg"
        )
    check_writable(path)


@house_style()
def write_picture(figure: "Figure", path: Path) -> None:
    """Write `figure` as PNG or SVG, by the ending of `path`, whole or not at all; the same figure gives the same bytes.

    Raises:
        InputError: the ending names no kind of picture, or a PNG would be too large to be opened.
        StorageError: the disk is full, or the folder may not be written.
    """
    check_picture(path)
    kind = _FORMATS[path.suffix.lower()]
    width, height = (round(inches * DOTS_PER_INCH[kind]) for inches in figure.get_size_inches())
    if kind == "png" and max(width, height) > LARGEST_PIXELS:
        raise InputError(
            f"the picture {path} would have {width:,} × {height:,} pixels, more than programs open; draw less (a "
            "shorter sentence, one head), or end its name in .svg"
        )
    page = io.BytesIO()
    figure.savefig(
        page, format=kind, dpi=DOTS_PER_INCH[kind], metadata=_METADATA[kind], bbox_inches="tight", pad_inches=0.08
    )
    write_bytes(path, page.getvalue())


def shown(text: str) -> str:
    """Return `text` as a label: Persian joined and from right to left, and nothing that the font cannot draw."""
    return shown_pieces([WORD_START + text])[0]


def distinct(paths: Sequence[Path]) -> list[str]:
    """Return a short name for each path: its last part, or all of it where another has the same last part."""
    names = [path.resolve().name for path in paths]
    return [str(path) if names.count(name) > 1 else name for path, name in zip(paths, names, strict=True)]
