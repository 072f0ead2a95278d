"""Files of pictures: PNG or SVG, written atomically, with equal bytes for equal figures."""

import io
from pathlib import Path
from typing import TYPE_CHECKING, Final

from translator.errors import InputError
from translator.plots.style import house_style
from translator.run.output_paths import resolve_output, write_output

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DOTS_PER_INCH: Final = 150
_MARGIN_INCHES: Final = 0.08
# Without these entries, which name the program and the time, the same figure gives the same bytes.
_LEFT_OUT_METADATA: Final = {".png": ("Software",), ".svg": ("Creator", "Date")}


def check_picture(path: Path) -> None:
    """Raise InputError or StorageError if a picture cannot be written to `path`."""
    if path.suffix.lower() not in _LEFT_OUT_METADATA:
        raise InputError(f"the name of the picture {path} must end in .png or .svg")
    place = resolve_output(path)
    if path.is_symlink() and isinstance(place, Path) and place.suffix.lower() not in _LEFT_OUT_METADATA:
        raise InputError(f"{path} is a link to {place}, which is no picture; give another output")


@house_style()
def write_picture(figure: "Figure", path: Path) -> None:
    """Write `figure` as PNG or SVG, by the ending of `path`, atomically; the same figure gives the same bytes.

    Raises InputError or StorageError as `check_picture`.
    """
    check_picture(path)
    ending = path.suffix.lower()
    content = io.BytesIO()
    figure.savefig(
        content,
        format=ending.removeprefix("."),
        dpi=_DOTS_PER_INCH,
        metadata=dict.fromkeys(_LEFT_OUT_METADATA[ending]),
        bbox_inches="tight",
        pad_inches=_MARGIN_INCHES,
    )
    write_output(path, content.getvalue())
