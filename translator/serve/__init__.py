"""The server of the web page and the JSON API; this file defines the limits, which need no extra library."""

import math
from dataclasses import dataclass
from typing import Final

from translator.config import SearchConfig
from translator.errors import InputError
from translator.run.text import install_command

_MOST_TRANSLATIONS: Final = 10  # of a line
_BYTES_PER_CHARACTER: Final = 12  # of JSON, where an emoji may be two escapes such as \\ud83d
_BYTES_PER_LINE: Final = 16  # quotes, comma and white space around a line
_OTHER_BYTES: Final = 4_096  # keys, and what clients add


@dataclass(frozen=True)
class Limits:
    """Limits that keep one request from blocking the others; raises InputError if a limit is invalid."""

    characters: int = 5_000  # in a request, over all lines
    lines: int = 100  # in a request
    seconds: float = 30.0  # from a request to its answer
    connections: int = 500  # at a time

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 < value < math.inf:
                raise InputError(f"the server's limit of {name} is {value:g}; it must be positive and finite")

    @property
    def bytes(self) -> int:
        """The largest body of a request: room for all its characters and lines, however JSON spells them."""
        return _BYTES_PER_CHARACTER * self.characters + _BYTES_PER_LINE * self.lines + _OTHER_BYTES


def most_translations(search: SearchConfig) -> int:
    """Return the largest number of translations of a line that a request may ask for under `search`."""
    # A beam has as many hypotheses as it is wide; samples can be drawn without end.
    most_of_method = {"greedy": 1, "beam": search.beam_size, "sampling": _MOST_TRANSLATIONS}
    return min(most_of_method[search.method], _MOST_TRANSLATIONS)


def check_installed() -> None:
    """Raise InputError with installation advice if a library of the server cannot be imported."""
    # The server's libraries are an extra of the package, which training and translating do without.
    try:
        import fastapi  # noqa: F401
        import python_multipart  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise InputError(
            f"{error.name} cannot be imported ({error}); install it: "
            + install_command("fastapi>=0.165,<1", "python-multipart>=0.0.20,<1", "uvicorn>=0.54,<1")
        ) from error
