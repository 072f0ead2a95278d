"""The server of the page and the JSON API; here its limits, which need no library of the extra `serve`."""

import math
from dataclasses import dataclass

from translator.config import SearchConfig
from translator.errors import InputError


@dataclass(frozen=True)
class Limits:
    """Bounds that keep one request from taking the machine away from all others; InputError if one is none."""

    characters: int = 5_000  # of all lines of a request
    lines: int = 100  # of a request
    translations: int = 10  # of a line
    waiting: int = 500  # requests that are not answered yet
    seconds: float = 30.0  # for a request to be answered

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 < value < math.inf:
                raise InputError(f"the server's limit of {name} is {value:g}; it must be more than 0, and finite")

    def most_translations(self, search: SearchConfig) -> int:
        """Return how many translations of a line may be asked for, of those that `search` can find."""
        found = {"greedy": 1, "beam": search.beam_size, "sampling": self.translations}[search.method]
        return min(found, self.translations)


def check_installed() -> None:
    """Raise InputError, which says how to get it, where a library of the server cannot be imported."""
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise InputError(
            f'{error.name} cannot be imported ({error}); install it: pip install "fastapi>=0.165,<1" "uvicorn>=0.54,<1"'
        ) from error
