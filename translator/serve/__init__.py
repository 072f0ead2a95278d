"""The server of the web page and the JSON API; this file defines the limits, which need no extra library."""

import math
from dataclasses import dataclass

from translator.config import SearchConfig
from translator.errors import InputError


@dataclass(frozen=True)
class Limits:
    """Limits that keep one request from blocking the others; raises InputError if a limit is invalid."""

    characters: int = 5_000  # in a request, over all lines
    lines: int = 100  # in a request
    translations: int = 10  # for each line
    waiting: int = 500  # unanswered requests
    seconds: float = 30.0  # to answer a request

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 < value < math.inf:
                raise InputError(f"the server's limit of {name} is {value:g}; it must be positive and finite")

    def most_translations(self, search: SearchConfig) -> int:
        """Return the largest number of translations of a line that a request may ask for under `search`."""
        found = {"greedy": 1, "beam": search.beam_size, "sampling": self.translations}[search.method]
        return min(found, self.translations)


def check_installed() -> None:
    """Raise InputError with installation advice if a library of the server cannot be imported."""
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise InputError(
            f'{error.name} cannot be imported ({error}); install it: pip install "fastapi>=0.165,<1" "uvicorn>=0.54,<1"'
        ) from error
