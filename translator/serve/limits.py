"""How much the server takes in."""

import math
from dataclasses import dataclass

from translator.config import SearchConfig
from translator.errors import InputError


@dataclass(frozen=True)
class Limits:
    """Bounds that keep one request from taking the machine away from all others.

    Raises:
        InputError: a bound is not positive, or has no end.
    """

    characters: int = 5_000
    """Of all lines of a request."""
    lines: int = 100
    """Of a request."""
    translations: int = 10
    """Of a line."""
    waiting: int = 500
    """Requests that are not answered yet."""
    seconds: float = 30.0
    """For a request to be read, and once more for it to be answered."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 < value < math.inf:
                raise InputError(f"the server's limit of {name} is {value:g}; it must be more than 0, and finite")

    @property
    def body(self) -> int:
        r"""Bytes of a request at most: JSON may spell one character in twelve (`\ud83d\ude42`)."""
        return 12 * self.characters + 64 * self.lines + 4096

    def most_translations(self, search: SearchConfig) -> int:
        """Return how many translations of a line may be asked for, of those that `search` can find."""
        found = {"greedy": 1, "beam": search.beam_size, "sampling": self.translations}[search.method]
        return min(found, self.translations)
